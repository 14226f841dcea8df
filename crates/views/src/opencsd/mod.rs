//! Listings in the words of the reference packet lister (OpenCSD's `trc_pkt_lister`).

pub mod frames;
pub mod text;
