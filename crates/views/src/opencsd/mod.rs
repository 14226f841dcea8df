//! Listings in the words of the reference packet lister (OpenCSD's `trc_pkt_lister`).

mod etmv4;
pub mod frames;
pub mod ptm;
pub mod text;

pub use etmv4::Etmv4Text;
