//! The back-end of a domain of plain Linux routers.
#![forbid(unsafe_code)]
