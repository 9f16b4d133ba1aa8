//! What each path does.
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use page_server::json;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use tokio::time::timeout;
use wan_server::protocol::{Answer, Ask, SessionAsked};

use super::ask::{Asked, ask, ends, established};
use super::routes::wrong;
use super::{App, internal};
use crate::body;
use crate::problem::Problem;
use crate::refusal::text;
use crate::service_file::Client;
use crate::sessions::Sessions;
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
    done.unwrap_or_else(|error| Err(internal(&error)))
}

/// Asks the manager for a client, if not too many questions are under way.
async fn question(app: &Arc<App>, client: &str, of: Ask) -> Result<Asked, Problem> {
    let place = app.places.take(client, matches!(of, Ask::Stop { .. }));
    let place = place.ok_or_else(|| {
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
async fn shown(app: &Arc<App>, status: StatusCode, client: Client, id: Uuid) -> Answered {
    app.seen(move |sessions| Ok(json(status, &info(sessions.get(&client, id)?)))).await
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
        let create = move |sessions: &mut Sessions, now| sessions.create(now, id, &client, &profile, asked);
        // Without a store the manager is not asked, and there is no session.
        let question = to.changed_or(create, move |sessions, _, _| sessions.take_back(id)).await??;
        set_up(&to, &of.name, id, question).await
    });
    match timeout(wait, setting_up).await {
        Ok(Ok(done)) => done?,
        Ok(Err(error)) => return Err(internal(&error)),
        // It goes on.
        Err(_) => {}
    }
    let of = client.clone();
    let tell = move |sessions: &mut Sessions, _| sessions.told(&of, id).map(drop);
    app.changed_or(tell, move |sessions, now, _| sessions.not_told(now, id)).await??;
    shown(&app, StatusCode::CREATED, client, id).await
}

async fn set_up(app: &Arc<App>, client: &str, id: Uuid, asked: SessionAsked) -> Result<(), Problem> {
    let answer = match question(app, client, Ask::Establish(asked)).await {
        Ok(answer) => established(answer),
        Err(problem) => {
            app.changed(move |sessions, _| sessions.take_back(id)).await?;
            return Err(problem);
        }
    };
    let hear = move |sessions: &mut Sessions, now| sessions.answered(now, id, answer);
    app.changed_or(hear, move |sessions, now, _| sessions.not_answered(now, id)).await?
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Response {
    answered(match name(&id) {
        Ok(id) => shown(&app, StatusCode::OK, client, id).await,
        Err(problem) => Err(problem),
    })
}

pub(super) async fn bound(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Response {
    let bound = |id| app.seen(move |sessions| Ok(json(StatusCode::OK, &bounds(sessions.get(&client, id)?))));
    answered(match name(&id) {
        Ok(id) => bound(id).await,
        Err(problem) => Err(problem),
    })
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
    let name = client.name.clone();
    let delete = move |sessions: &mut Sessions, _| sessions.delete(&client, id);
    let not_deleted = move |sessions: &mut Sessions, now, asked| {
        if matches!(asked, Ok(Some(_))) {
            sessions.not_deleted(now, id);
        }
    };
    let Some(session) = app.changed_or(delete, not_deleted).await?? else { return gone() };
    let asked = question(&app, &name, Ask::Stop { session }).await;
    if matches!(&asked, Ok(asked) if ends(asked)) {
        app.changed(move |sessions, now| sessions.deleted(now, id)).await?;
        return gone();
    }
    app.changed(move |sessions, now| sessions.not_deleted(now, id)).await?;
    Err(asked.err().unwrap_or_else(Problem::manager))
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
    let extend = move |sessions: &mut Sessions, _| sessions.extend(&of, id, more);
    let not_extended = move |sessions: &mut Sessions, _, asked| {
        if matches!(asked, Ok(Some(_))) {
            sessions.not_extended(id);
        }
    };
    let wanted = app.changed_or(extend, not_extended).await??;
    let Some((session, by)) = wanted else { return shown(&app, StatusCode::OK, client, id).await };
    let refused = match question(&app, &client.name, Ask::Extend { session, by }).await {
        Ok(Asked::Answer(Answer::Extended { .. })) => {
            app.changed(move |sessions, _| sessions.extended(id, by)).await?;
            return shown(&app, StatusCode::OK, client, id).await;
        }
        Ok(Asked::Answer(Answer::Refused(why))) if why.reason == "busy" => Problem::away(text(&why)),
        Ok(Asked::Answer(Answer::Refused(why))) => {
            Problem::new(409, "QUALITY_ON_DEMAND.SESSION_EXTENSION_NOT_ALLOWED", text(&why))
        }
        Ok(_) => Problem::manager(),
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
        let found = move |sessions: &Sessions| {
            Ok(list(sessions.of_device(&client, device.as_ref())?.into_iter().map(info)))
        };
        app.seen(found).await
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
