//! Takes connections, and passes requests to the threads that answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::access::{Access, Token, add_headers};
use crate::answer::{Answer, Problem};
use crate::answering::{Answering, Job, Reply};
use crate::answers::{JSON, content};
use crate::page;
use crate::request::Request;
use crate::served::Served;

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// How long the head of a request may take to arrive.
    pub head: Duration,
    /// How long an answer may take.
    pub answer: Duration,
    /// Bytes of the head of a request, at least 8192.
    pub head_bytes: usize,
    /// Threads that answer, and one more for searches.
    pub workers: usize,
    /// Without a request for that time, the server ends.
    pub idle: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 32,
            head: Duration::from_secs(10),
            answer: Duration::from_secs(2),
            head_bytes: 8192,
            workers: 2,
            idle: None,
        }
    }
}

/// Requests that wait for a thread.
const WAITING: usize = 64;
/// Searches that wait.
const WAITING_SEARCHES: usize = 8;
/// Events of a search that wait for the connection.
const WAITING_EVENTS: usize = 64;
/// The most bytes of the body of a request.
const MOST_BODY: usize = 1 << 20;

/// Sets its flag when it is dropped: the answer is not wanted any more.
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The body of an answer.
enum Content {
    Whole(Option<Bytes>),
    Events(mpsc::Receiver<Bytes>, #[expect(dead_code, reason = "it is dropped")] Wanted),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Events(events, _) => {
                events.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Content::Whole(None))
    }
}

/// Serves `served` on a port of the loopback interface; port 0 is any free one. `ready` receives
/// the address of the page, which has the token. The server ends when `finished` is ready, or after
/// [`Limits::idle`].
///
/// # Errors
/// Where the port cannot be used.
pub fn serve(
    served: &Served<'_>,
    port: u16,
    limits: Limits,
    ready: impl FnOnce(&str) -> io::Result<()>,
    finished: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Server::new(port, limits, served.files.save.is_some())?;
    ready(server.address())?;
    server.run(finished, |answering| {
        answering.with(served, || while !answering.wait(Duration::from_secs(60)) {});
    })
}

/// A server that accepts connections. What it serves may be replaced by more of the same trace.
#[derive(Debug)]
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: String,
    shared: Arc<Shared>,
    jobs: Receiver<Job>,
    searches: Receiver<Job>,
}

impl Server {
    /// Waits for connections on a port of the loopback interface; port 0 is any free one.
    /// `saves`: bookmarks are
    /// saved.
    ///
    /// # Errors
    /// Where the port cannot be used.
    pub fn new(port: u16, limits: Limits, saves: bool) -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let token = Token::random()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let port = listener.local_addr()?.port();
        let address = format!("http://127.0.0.1:{port}/{}/", token.text());
        let (jobs, waiting) = sync_channel::<Job>(WAITING);
        let (searches, waiting_searches) = sync_channel::<Job>(WAITING_SEARCHES);
        let access = Access { port, token };
        let requests = AtomicU64::new(0);
        let shared = Arc::new(Shared { access, jobs, searches, limits, saves, requests });
        Ok(Server { runtime, listener, address, shared, jobs: waiting, searches: waiting_searches })
    }

    /// The address of the page, which has the token.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Accepts connections, until `finished` is ready, or for [`Limits::idle`], or until `answers`
    /// returns, which answers requests on another thread.
    ///
    /// # Errors
    /// Where the port cannot be used any more.
    pub fn run(
        self,
        finished: impl Future<Output = ()>,
        answers: impl FnOnce(&Answering) + Send,
    ) -> io::Result<()> {
        let Server { runtime, listener, address: _, shared, jobs, searches } = self;
        let answering = Answering::new(jobs, searches, shared.limits.workers);
        let (end, answered) = oneshot::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| {
                answers(&answering);
                drop(end);
            });
            let done = runtime.block_on(async {
                let mut accepted = pin!(accept(listener, Arc::clone(&shared)));
                let (mut idle, mut finished) = (pin!(idle(&shared)), pin!(finished));
                let mut answered = pin!(answered);
                poll_fn(|context| {
                    if let Poll::Ready(done) = accepted.as_mut().poll(context) {
                        return Poll::Ready(done);
                    }
                    let ended = idle.as_mut().poll(context).is_ready()
                        || answered.as_mut().poll(context).is_ready();
                    match ended || finished.as_mut().poll(context).is_ready() {
                        true => Poll::Ready(Ok(())),
                        false => Poll::Pending,
                    }
                })
                .await
            });
            // Tasks of connections hold the senders: without them the threads end.
            drop((runtime, shared));
            answering.end();
            done
        })
    }
}

/// What connections share.
#[derive(Debug)]
struct Shared {
    access: Access,
    jobs: SyncSender<Job>,
    searches: SyncSender<Job>,
    limits: Limits,
    saves: bool,
    /// The number of requests so far.
    requests: AtomicU64,
}

/// Ends when no request has come for a time.
async fn idle(shared: &Shared) {
    let Some(time) = shared.limits.idle else { return std::future::pending().await };
    let mut before = None;
    loop {
        let now = shared.requests.load(Ordering::Relaxed);
        if before == Some(now) {
            return;
        }
        before = Some(now);
        tokio::time::sleep(time).await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(shared.limits.connections));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The other side closed the connection, or no file descriptor is left.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let limits = shared.limits;
            let service = service_fn(|request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(answer(&shared, request).await) }
            });
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(limits.head);
            http.max_buf_size(limits.head_bytes);
            // The other side may have closed it.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(permit);
        });
    }
}

/// Answers a request.
async fn answer(shared: &Shared, request: hyper::Request<Incoming>) -> Response<Content> {
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let result = answered(shared, request).await;
    let mut response = result.unwrap_or_else(|problem| {
        let status = StatusCode::from_u16(problem.status);
        let mut response = whole(JSON, problem.json().into_bytes());
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if problem.status == 405 {
            let allow = if shared.saves { "GET, HEAD, PUT" } else { "GET, HEAD" };
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        response
    });
    add_headers(response.headers_mut());
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}

fn whole(content_type: &'static str, bytes: Vec<u8>) -> Response<Content> {
    let content = if bytes.is_empty() { None } else { Some(Bytes::from(bytes)) };
    let mut response = Response::new(Content::Whole(content));
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

async fn answered(
    shared: &Shared,
    request: hyper::Request<Incoming>,
) -> Result<Response<Content>, Problem> {
    let (parts, incoming) = request.into_parts();
    let allowed = shared.access.check(parts.uri.path(), &parts.headers)?;
    let route = allowed.path.strip_prefix("api/");
    let puts = shared.saves && parts.method == Method::PUT && route == Some("notes");
    if !matches!(parts.method, Method::GET | Method::HEAD) && !puts {
        return Err(Problem::new(405, "method", "this method is not for this address"));
    }
    let Some(route) = route else {
        let cookie = (allowed.named && allowed.path.is_empty()).then(|| shared.access.cookie());
        return page(allowed.path, &parts.headers, cookie);
    };
    let own = Request::new(route, parts.uri.query().unwrap_or(""));
    let stop = Arc::new(AtomicBool::new(false));
    let wanted = Wanted(Arc::clone(&stop));
    if route == "find" {
        let (events, receiver) = mpsc::channel(WAITING_EVENTS);
        let reply = Reply::Events(events);
        let job = Job { request: own, body: None, stop, reply };
        shared.searches.try_send(job).map_err(|_| busy())?;
        let mut response = Response::new(Content::Events(receiver, wanted));
        let kind = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        return Ok(response);
    }
    let body = if puts { Some(body_of(&parts.headers, incoming).await?) } else { None };
    let (reply, receiver) = oneshot::channel();
    let job = Job { request: own, body, stop, reply: Reply::Once(reply) };
    shared.jobs.try_send(job).map_err(|_| busy())?;
    let late = || Problem::new(504, "time", "the answer takes too long; ask for a smaller part");
    // What the page begins with may have to read the lines of a large program.
    let longer = matches!(route, "capture" | "functions");
    let time = shared.limits.answer * if longer { 30 } else { 1 };
    let answer = tokio::time::timeout(time, receiver).await.map_err(|_| late())?;
    drop(wanted);
    let answer = answer.map_err(|_| Problem::new(500, "damaged", "the answer failed"))??;
    if answer == Answer::Done {
        let mut response = Response::new(Content::Whole(None));
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    }
    let is_fixed = matches!(answer, Answer::Fixed(_));
    let (content_type, bytes) = content(answer);
    let mut response = whole(content_type, bytes);
    if is_fixed {
        let long = HeaderValue::from_static("private, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, long);
    }
    Ok(response)
}

fn busy() -> Problem {
    Problem::new(503, "busy", "too many requests wait; ask again")
}

/// The body of a request that saves.
async fn body_of(headers: &header::HeaderMap, incoming: Incoming) -> Result<Bytes, Problem> {
    let json = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if json.and_then(|kind| kind.split(';').next()) != Some(JSON) {
        return Err(Problem::parameter("Content-Type", JSON));
    }
    let body = Limited::new(incoming, MOST_BODY).collect();
    let body = tokio::time::timeout(Duration::from_secs(10), body).await;
    let most = || Problem::too_large(MOST_BODY as u64);
    Ok(body.map_err(|_| most())?.map_err(|_| most())?.to_bytes())
}

/// A file of the page.
fn page(
    path: &str,
    headers: &header::HeaderMap,
    cookie: Option<String>,
) -> Result<Response<Content>, Problem> {
    let file = page::FILES.iter().find(|file| file.name == path);
    let file = file.ok_or_else(|| Problem::absent("page"))?;
    let tag = format!("\"{:016x}\"", tracewright::index::Checksum::of(file.bytes));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let mut response =
        whole(file.content_type, if known { Vec::new() } else { file.bytes.to_vec() });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let own = response.headers_mut();
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    for (name, value) in [(header::ETAG, Some(tag)), (header::SET_COOKIE, cookie)] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            own.insert(name, value);
        }
    }
    Ok(response)
}
