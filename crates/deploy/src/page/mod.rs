//! `punctual deploy page`: a live page of deployments, for browsers and programs of this host.
mod routes;
mod watch;

use std::io::Write;
use std::net::{SocketAddr, TcpListener as Bound};
use std::sync::Arc;

use page_server::{Access, Connections, keep_alive, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc::channel;

use self::routes::App;
use self::watch::Asked;
use crate::command::{DONE, FAILED, Failure, WRONG, print};
use crate::hosts::At;
use crate::status::meant;

/// Serves the page of one deployment, or of all, until the command is ended: those of this host, or of an execution manager.
///
/// # Errors
/// The address can be reached by others, is not of this host or is taken; there is no event loop.
pub(crate) fn run(
    of: Option<&str>,
    at: &At,
    address: SocketAddr,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    if !address.ip().is_loopback() {
        let what = format!(
            "{address} can be reached by others, and everybody may read the page: give an address of loopback, such as 127.0.0.1:{port}; \
             from another host: ssh -L {port}:127.0.0.1:{port} HOST",
            port = address.port()
        );
        return Err((WRONG, what));
    }
    let asked = Asked { of: of.map(meant).transpose()?, at: at.clone(), proofs: Arc::default() };
    let failed = |error: std::io::Error| (FAILED, format!("the page cannot be served at {address}: {error}"));
    let listener = Bound::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    print(out, format_args!("the page is at http://{address}/ until Ctrl-C\n"))?;
    out.flush().map_err(failed)?;
    runtime.block_on(look_after(asked, address, listener)).map_err(failed)?;
    Ok(DONE)
}

async fn look_after(asked: Asked, address: SocketAddr, listener: Bound) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let app = Arc::new(App::new(asked, Access { address, token: None, tls: false, keys: false }));
    let router = routes::router(&app);
    let (accepted, arrivals) = channel(1);
    tokio::select! {
        () = connections::accept(listener, None, "the page: clients", accepted) => {}
        () = serve(arrivals, Connections::default(), router) => {}
        () = watch::watch(Arc::clone(&app)) => {}
        () = keep_alive(&app.hub) => {}
    }
    Ok(())
}
