//! Listings in the format of OpenCSD's `trc_pkt_lister`.

pub mod element;
mod etmv3;
mod etmv4;
pub mod frames;
mod held;
mod itm;
pub mod listing;
mod order;
mod packet_text;
mod plain;
mod ptm;
pub mod registers;
pub mod reported;
mod session;
mod source;
mod stm;
pub mod unsynced;

pub use etmv3::{Etmv3Text, m_exception as etmv3_m_exception};
pub use etmv4::{Etmv4Text, exception_name as etmv4_exception, title_of as etmv4_title};
pub use itm::{ItmText, begun as itm_begun};
pub use listing::{Listing, Selection, Shown};
pub use packet_text::{Behaviour, PacketText};
pub use ptm::PtmText;
pub use reported::{Reported, SourceReport};
pub use session::ListedBuffer;
pub use stm::{StmText, begun as stm_begun};
