//! `POST /plants` in Rust: hyper, and a writer thread that commits all creates that wait at once.
//! `PLANT_STORE_TOKEN=TOKEN plant-peer STORE_PATH`
//!
//! It keeps the promise for this one operation: a 200 only after the sync of the commit. It takes
//! `id` as an integer literal only.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{env, error, iter, process, thread};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request, Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rusqlite::{Connection, Result, Row};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BODY_BYTES_MAX: usize = 1 << 20;
const WAITING_MAX: usize = 16_384;
const BATCH_MAX: usize = 1_024;
/// As often as SQLite does by itself, but after the answers.
const COMMITS_A_CHECKPOINT: u32 = 1_000;

#[derive(Deserialize, Serialize)]
struct NewPlant {
    #[serde(skip_serializing)]
    id: i64,
    name: String,
    #[serde(default, deserialize_with = "string", skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

/// `null` is not a string.
fn string<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

struct Create {
    plant: NewPlant,
    /// The plant if the store has it now, or nothing if the id belongs to another plant.
    answer: oneshot::Sender<Option<NewPlant>>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn error::Error>> {
    let path = env::args().nth(1).ok_or("the first argument is the path of the store")?;
    let authorization: Arc<str> = format!("Bearer {}", env::var("PLANT_STORE_TOKEN")?).into();
    let store = open(&path)?;
    let (creates, arrived) = sync_channel(WAITING_MAX);
    thread::spawn(move || {
        // A sync that has failed once must not be tried again: the process ends.
        if let Err(error) = write(&store, &arrived) {
            eprintln!("{error}");
            process::exit(1);
        }
    });

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let mut terminated = signal(SignalKind::terminate())?;
    loop {
        let (socket, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            _ = terminated.recv() => return Ok(()),
        };
        socket.set_nodelay(true)?;
        let (creates, authorization) = (creates.clone(), authorization.clone());
        let service = service_fn(move |request| {
            let (creates, authorization) = (creates.clone(), authorization.clone());
            async move {
                let answered = answer(request, &authorization, &creates).await;
                Ok::<_, Infallible>(answered.unwrap_or_else(|refusal| refusal))
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

type Reply = Response<Full<Bytes>>;

/// Both are replies: an error is a refusal.
async fn answer(
    request: Request<Incoming>,
    authorization: &str,
    creates: &SyncSender<Create>,
) -> Result<Reply, Reply> {
    if request.method() != Method::POST || request.uri().path() != "/plants" {
        return Err(refuse(404, 40400, "there is only POST /plants"));
    }
    let sent = request.headers().get(AUTHORIZATION);
    if sent.is_none_or(|value| value.as_bytes() != authorization.as_bytes()) {
        return Err(refuse(401, 40101, "the token is missing or unknown"));
    }
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|_| refuse(413, 41300, "the body is too large"))?.to_bytes();
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(refuse(400, 40001, "a plant is an object")); // serde also takes an array
    }
    let plant = serde_json::from_slice(&body);
    let plant = plant.map_err(|error| refuse(400, 40001, &error.to_string()))?;
    let (answer, stored) = oneshot::channel();
    let sent = creates.try_send(Create { plant, answer });
    sent.map_err(|_| refuse(503, 50300, "too many creates wait"))?;
    let stored = stored.await.map_err(|_| refuse(503, 50301, "the store takes no writes"))?;
    let plant = stored.ok_or_else(|| refuse(400, 40004, "the id belongs to a different plant"))?;
    Ok(reply(200, &plant))
}

fn refuse(status: u16, error: i32, message: &str) -> Reply {
    reply(status, &serde_json::json!({ "error": error, "message": message }))
}

fn reply(status: u16, body: &impl Serialize) -> Reply {
    let bytes = serde_json::to_vec(body).expect("strings and numbers are JSON");
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(Full::from(bytes)).expect("the header is valid")
}

fn open(path: &str) -> Result<Connection> {
    let store = Connection::open(path)?;
    store.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE IF NOT EXISTS plants
             (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT",
    )?;
    Ok(store)
}

/// Commits all creates that wait in one transaction, and answers them after its sync.
fn write(store: &Connection, arrived: &Receiver<Create>) -> Result<()> {
    let mut commits = 0;
    while let Ok(first) = arrived.recv() {
        let waiting = arrived.try_iter().take(BATCH_MAX - 1);
        let batch: Vec<Create> = iter::once(first).chain(waiting).collect();
        let stored = commit(store, &batch)?;
        for (Create { plant, answer }, is_stored) in batch.into_iter().zip(stored) {
            let _ = answer.send(is_stored.then_some(plant)); // the client may have gone
        }
        commits += 1;
        if commits % COMMITS_A_CHECKPOINT == 0 {
            store.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
    }
    Ok(())
}

/// Whether each plant is in the store now.
fn commit(store: &Connection, batch: &[Create]) -> Result<Vec<bool>> {
    let sql = "INSERT INTO plants VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING";
    let mut insert = store.prepare_cached(sql)?;
    let mut find = store.prepare_cached("SELECT name, tag FROM plants WHERE id = ?1")?;
    store.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let stored = batch.iter().map(|Create { plant, .. }| {
        let is_new = insert.execute((plant.id, &plant.name, &plant.tag))? == 1;
        Ok(is_new || find.query_row([plant.id], |row| is_same(plant, row))?)
    });
    let stored = stored.collect::<Result<_>>()?;
    store.prepare_cached("COMMIT")?.execute([])?;
    Ok(stored)
}

fn is_same(plant: &NewPlant, row: &Row) -> Result<bool> {
    let same_name = row.get_ref(0)?.as_str()? == plant.name;
    Ok(same_name && row.get::<_, Option<String>>(1)? == plant.tag)
}
