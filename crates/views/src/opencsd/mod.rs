//! Listings in the words of the reference packet lister (OpenCSD's `trc_pkt_lister`).

mod etmv4;
pub mod frames;
mod itm;
pub mod ptm;
mod stm;
pub mod text;

pub use etmv4::Etmv4Text;
pub use itm::ItmText;
pub use stm::StmText;
