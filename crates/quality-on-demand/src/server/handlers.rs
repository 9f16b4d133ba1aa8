//! What each path does.
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use page_server::{json, lock};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use tokio::time::timeout;
use wan_server::protocol::{Answer, Ask, SessionAsked};

use super::App;
use super::ask::{Asked, ask, ends, established};
use super::routes::wrong;
use crate::body;
use crate::problem::Problem;
use crate::service_file::Client;
use crate::shown::{bounds, info, profile_info, profile_status};
use crate::uuid::Uuid;

/// How long the body of a request may take.
const READING: Duration = Duration::from_secs(10);

type Answered = Result<Response, Problem>;

/// The answer, whichever it is.
fn answered(of: Answered) -> Response {
    of.unwrap_or_else(|problem| wrong(&problem))
}

async fn read(body: Body) -> Result<Vec<u8>, Problem> {
    let read = timeout(READING, to_bytes(body, body::LONGEST)).await;
    match read {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(_)) => {
            Err(Problem::argument(format!("the body has more than {} bytes, or breaks off", body::LONGEST)))
        }
        Err(_) => Err(Problem::argument("the body does not come")),
    }
}

fn name(text: &str) -> Result<Uuid, Problem> {
    text.parse().map_err(|()| Problem::argument("sessionId: it is no UUID"))
}

/// Does something to its end, also if the client leaves meanwhile.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(Problem::new(500, "INTERNAL", format!("it failed: {error}"))))
}

/// Asks the manager, if not too many do.
async fn question(app: &Arc<App>, of: Ask) -> Result<Asked, Problem> {
    let place = Arc::clone(&app.questions).try_acquire_owned();
    let place = place.map_err(|_| {
        Problem::new(429, "TOO_MANY_REQUESTS", "too many sessions are under way: ask again in a moment")
    })?;
    let asn = app.file.asn;
    let asked = app.runtime.spawn_blocking(move || {
        let _place = place;
        ask(asn, &of)
    });
    Ok(asked.await.unwrap_or_else(|error| Asked::Lost(error.to_string())))
}

/// A session of a client as it is now.
fn shown(app: &App, status: StatusCode, client: &Client, id: Uuid) -> Answered {
    let kept = lock(&app.kept);
    Ok(json(status, &info(kept.sessions.get(client, id)?)))
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    body: Body,
) -> Response {
    answered(created(app, client, body).await)
}

async fn created(app: Arc<App>, client: Client, body: Body) -> Answered {
    let asked = body::create(&read(body).await?)?;
    if asked.sink.is_some() && app.file.sinks.is_none() {
        let what =
            "sink: this server sends no notifications; GET /sessions/{sessionId} tells how a session is";
        return Err(Problem::new(400, "INVALID_SINK", what));
    }
    let profile = app.file.profile(&asked.qos_profile);
    let profile =
        profile.cloned().ok_or_else(|| Problem::argument("qosProfile: there is none of this name"))?;
    let mut bits = [0; 16];
    let random = SystemRandom::new().fill(&mut bits);
    random.map_err(|_| Problem::away("this host has no random numbers"))?;
    let id = Uuid::random(u128::from_ne_bytes(bits));
    let wait = Duration::from_millis(app.file.wait);
    let (to, of) = (Arc::clone(&app), client.clone());
    let setting_up = tokio::spawn(async move {
        let client = of.clone();
        let question =
            to.changed(move |sessions, now| sessions.create(now, id, &client, &profile, asked)).await;
        match question {
            Ok(question) => set_up(&to, id, question?).await,
            Err(problem) => {
                // Nothing was asked for. It is forgotten, and that is stored with the next change.
                let _ = to.changed(move |sessions, _| sessions.take_back(id)).await;
                Err(problem)
            }
        }
    });
    match timeout(wait, setting_up).await {
        Ok(Ok(done)) => done?,
        Ok(Err(error)) => return Err(Problem::new(500, "INTERNAL", format!("it failed: {error}"))),
        // It goes on.
        Err(_) => {}
    }
    let of = client.clone();
    app.changed(move |sessions, _| sessions.told(&of, id).map(drop)).await??;
    shown(&app, StatusCode::CREATED, &client, id)
}

async fn set_up(app: &Arc<App>, id: Uuid, asked: SessionAsked) -> Result<(), Problem> {
    let answer = match question(app, Ask::Establish(asked)).await {
        Ok(answer) => established(answer),
        Err(problem) => {
            app.changed(move |sessions, _| sessions.take_back(id)).await?;
            return Err(problem);
        }
    };
    app.changed(move |sessions, now| sessions.answered(now, id, answer)).await?
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Response {
    answered(name(&id).and_then(|id| shown(&app, StatusCode::OK, &client, id)))
}

pub(super) async fn bound(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Response {
    let bound = |id| {
        let kept = lock(&app.kept);
        Ok(json(StatusCode::OK, &bounds(kept.sessions.get(&client, id)?)))
    };
    answered(name(&id).and_then(bound))
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Response {
    answered(match name(&id) {
        Ok(id) => to_its_end(deleted(app, client, id)).await,
        Err(problem) => Err(problem),
    })
}

async fn deleted(app: Arc<App>, client: Client, id: Uuid) -> Answered {
    let gone = || {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    };
    let Some(session) = app.changed(move |sessions, _| sessions.delete(&client, id)).await?? else {
        return gone();
    };
    let asked = question(&app, Ask::Stop { session }).await;
    match asked.map(ends) {
        Ok(Ok(())) => {
            app.changed(move |sessions, now| sessions.deleted(now, id)).await?;
            gone()
        }
        Ok(Err(what)) => {
            app.changed(move |sessions, now| sessions.not_deleted(now, id)).await?;
            Err(Problem::away(what))
        }
        Err(problem) => {
            app.changed(move |sessions, now| sessions.not_deleted(now, id)).await?;
            Err(problem)
        }
    }
}

pub(super) async fn extend(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    body: Body,
) -> Response {
    let extended = async {
        let id = name(&id)?;
        let more = body::extend(&read(body).await?)?;
        to_its_end(extended(app, client, id, more)).await
    };
    answered(extended.await)
}

async fn extended(app: Arc<App>, client: Client, id: Uuid, more: u32) -> Answered {
    let of = client.clone();
    let wanted = app.changed(move |sessions, _| sessions.extend(&of, id, more)).await??;
    let Some((session, by)) = wanted else { return shown(&app, StatusCode::OK, &client, id) };
    let refused = match question(&app, Ask::Extend { session, by }).await {
        Ok(Asked::Answer(Answer::Extended { .. })) => {
            app.changed(move |sessions, _| sessions.extended(id, by)).await?;
            return shown(&app, StatusCode::OK, &client, id);
        }
        Ok(Asked::Answer(Answer::Refused(why))) => {
            Problem::new(409, "QUALITY_ON_DEMAND.SESSION_EXTENSION_NOT_ALLOWED", why.text)
        }
        Ok(Asked::Answer(Answer::Unavailable { what })) => Problem::away(what),
        Ok(Asked::Answer(Answer::Wrong { what })) => {
            Problem::new(409, "QUALITY_ON_DEMAND.SESSION_EXTENSION_NOT_ALLOWED", what)
        }
        Ok(Asked::Answer(_)) => Problem::away("the manager says something else"),
        Ok(Asked::Not(what) | Asked::Lost(what)) => Problem::away(what),
        Err(problem) => problem,
    };
    app.changed(move |sessions, _| sessions.not_extended(id)).await?;
    Err(refused)
}

pub(super) async fn retrieve(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    body: Body,
) -> Response {
    let found = async {
        let device = body::retrieve(&read(body).await?)?;
        let kept = lock(&app.kept);
        let sessions = kept.sessions.of_device(&client, device.as_ref())?;
        Ok(list(sessions.into_iter().map(info)))
    };
    answered(found.await)
}

fn list(of: impl Iterator<Item = impl Serialize>) -> Response {
    json(StatusCode::OK, &of.collect::<Vec<_>>())
}

pub(super) async fn profiles(State(app): State<Arc<App>>) -> Response {
    list(app.file.profiles.iter().map(profile_info))
}

pub(super) async fn profile(State(app): State<Arc<App>>, Path(name): Path<String>) -> Response {
    let shown = |name: &str| {
        if !body::is_profile_name(name) {
            return Err(Problem::argument("name: it is no name of a profile"));
        }
        let profile =
            app.file.profile(name).ok_or_else(|| Problem::unknown("there is no profile of this name"))?;
        Ok(json(StatusCode::OK, &profile_info(profile)))
    };
    answered(shown(&name))
}

pub(super) async fn retrieve_profiles(State(app): State<Arc<App>>, body: Body) -> Response {
    let found = async {
        let asked = body::profiles(&read(body).await?)?;
        if let Some(device) = &asked.device {
            device.address()?;
        }
        let of_name = |name: &str| asked.name.as_ref().is_none_or(|asked| asked == name);
        let of_status = |status: &str| asked.status.as_ref().is_none_or(|asked| asked == status);
        let all = app.file.profiles.iter();
        let all = all.filter(|profile| of_name(&profile.name) && of_status(profile_status(profile)));
        Ok(list(all.map(profile_info)))
    };
    answered(found.await)
}
