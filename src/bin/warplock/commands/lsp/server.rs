//! The state of the server, and the effect of each message.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use lsp_server::ErrorCode;
use lsp_server::Message;
use lsp_server::Notification;
use lsp_server::Request;
use lsp_server::RequestId;
use lsp_server::Response;
use lsp_types as lsp;
use lsp_types::notification;
use lsp_types::notification::Notification as _;
use lsp_types::request;
use lsp_types::request::Request as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::json;
use warplock::report::Finding;

use super::Event;
use super::capabilities;
use super::document::Document;
use super::features;
use super::findings;
use super::verdicts;
use super::verdicts::Question;
use super::verdicts::Target;
use super::verdicts::Verdict;
use super::wire;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::session::Session;

/// How long the server waits for running checks before the program ends.
const LEAVING: Duration = Duration::from_secs(5);

/// Why a request is refused: an error code and a message.
type Refusal = (ErrorCode, String);

/// The server.
pub struct Server<'a> {
    session: &'a Session,
    events: Sender<Event>,
    timeout: Duration,
    life: Life,
    client: Client,
    documents: HashMap<String, Document>,
    jobs: BTreeMap<u64, Job>,
    /// The threads of the checks.
    threads: Vec<JoinHandle<()>>,
    /// How many checks and requests the server has numbered.
    count: u64,
}

/// The stage of the conversation with the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Waiting,
    Running,
    ShutDown,
}

/// The abilities of the client that the server uses.
#[derive(Default)]
struct Client {
    refreshes_lenses: bool,
    shows_progress: bool,
}

/// A check that is running.
struct Job {
    uri: String,
    version: i32,
    target: Target,
    cancel: Arc<AtomicBool>,
    request: RequestId,
}

impl Server<'_> {
    /// A server whose client has not sent the first message yet.
    pub fn new(events: Sender<Event>, timeout: Duration, session: &Session) -> Server<'_> {
        Server {
            session,
            events,
            timeout,
            life: Life::Waiting,
            client: Client::default(),
            documents: HashMap::new(),
            jobs: BTreeMap::new(),
            threads: Vec::new(),
            count: 0,
        }
    }

    /// Handles an event. Returns the exit code if the event ends the server.
    pub fn take(&mut self, event: Event) -> Option<Exit> {
        match event {
            Event::Message(Message::Request(request)) => self.request(request),
            Event::Message(Message::Notification(notification)) => {
                if notification.method == notification::Exit::METHOD {
                    return Some(self.ended());
                }
                let method = notification.method.clone();
                let done = interrupt::guarded(|| {
                    self.notified(notification);
                    Ok(())
                });
                if let Err(Failure::Internal(message)) = done {
                    self.log(&format!("{method}: {message}"));
                }
            }
            // The client's responses to requests of this server need no action.
            Event::Message(Message::Response(_)) => {}
            Event::Damaged(code, message) => {
                let terminal = &self.session.terminal;
                terminal.out_bytes(&wire::refusal(code, &message));
            }
            Event::Closed => return Some(self.ended()),
            Event::Stage(number, what) => self.report(number, &what),
            Event::Decided(number, result) => self.decided(number, result),
        }
        None
    }

    /// Cancels the checks and waits up to `LEAVING` for their end. If the program ended while a solver is at work,
    /// the solver might crash it.
    pub fn leave(&mut self) {
        self.jobs.values().for_each(|job| self.cancel(Some(job)));
        let last = Instant::now() + LEAVING;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < last {
                thread::sleep(interrupt::POLL);
            }
            if thread.is_finished() {
                // Nobody reads its result any more.
                let _ = thread.join();
            }
        }
    }

    /// The LSP demands exit code 1 if the client ends the server without a request to shut down.
    fn ended(&self) -> Exit {
        match self.life {
            Life::ShutDown => Exit::Success,
            Life::Waiting | Life::Running => Exit::Refuted,
        }
    }

    fn send(&self, message: impl Into<Message>) {
        let bytes = wire::encoded(&message.into());
        self.session.terminal.out_bytes(&bytes);
    }

    fn notify<N: notification::Notification>(&self, params: N::Params) {
        self.send(Notification::new(N::METHOD.to_owned(), params));
    }

    fn ask<R: request::Request>(&mut self, params: R::Params) {
        self.count += 1;
        let id = RequestId::from(format!("server-{}", self.count));
        self.send(Request::new(id, R::METHOD.to_owned(), params));
    }

    fn answer(&self, id: RequestId, result: Result<Value, Refusal>) {
        self.send(match result {
            Ok(value) => Response::new_ok(id, value),
            Err((code, message)) => Response::new_err(id, code as i32, message),
        });
    }

    fn log(&self, message: &str) {
        self.notify::<notification::LogMessage>(lsp::LogMessageParams {
            typ: lsp::MessageType::ERROR,
            message: message.to_owned(),
        });
    }

    fn request(&mut self, request: Request) {
        let id = request.id.clone();
        let result = match (self.life, request.method.as_str()) {
            (Life::Waiting, request::Initialize::METHOD) => self.initialize(request.params),
            (Life::Waiting, _) => Err((
                ErrorCode::ServerNotInitialized,
                "`initialize` comes first".to_owned(),
            )),
            (Life::ShutDown, _) => Err((
                ErrorCode::InvalidRequest,
                "nothing but `exit` comes after `shutdown`".to_owned(),
            )),
            (Life::Running, request::Shutdown::METHOD) => {
                self.life = Life::ShutDown;
                for job in self.jobs.values() {
                    job.cancel.store(true, Ordering::Relaxed);
                }
                Ok(Value::Null)
            }
            // The response is sent when there is a verdict.
            (Life::Running, request::ExecuteCommand::METHOD) => {
                match self.check(id.clone(), request.params) {
                    Ok(()) => return,
                    Err(refusal) => Err(refusal),
                }
            }
            (Life::Running, _) => {
                let answered = interrupt::guarded(|| Ok(self.about_text(request)));
                answered.unwrap_or_else(|failure| {
                    let text = failure.rendered(warplock::report::style::Style::PLAIN);
                    Err((ErrorCode::InternalError, text))
                })
            }
        };
        self.answer(id, result);
    }

    fn initialize(&mut self, params: Value) -> Result<Value, Refusal> {
        let params: lsp::InitializeParams = read(params)?;
        let workspace = params.capabilities.workspace;
        let lenses = workspace.and_then(|workspace| workspace.code_lens);
        let window = params.capabilities.window.unwrap_or_default();
        self.client = Client {
            refreshes_lenses: lenses.is_some_and(|lenses| lenses.refresh_support == Some(true)),
            shows_progress: window.work_done_progress.unwrap_or_default(),
        };
        self.life = Life::Running;
        Ok(json!({
            "capabilities": capabilities::all(),
            "serverInfo": { "name": "warplock", "version": env!("CARGO_PKG_VERSION") },
        }))
    }

    /// Answers the requests that change nothing.
    fn about_text(&self, request: Request) -> Result<Value, Refusal> {
        let params = request.params;
        match request.method.as_str() {
            request::HoverRequest::METHOD => {
                self.at::<lsp::HoverParams, _>(params, |document, params| {
                    let place = params.text_document_position_params;
                    features::hover(document, place.position)
                })
            }
            request::GotoDefinition::METHOD => {
                self.at::<lsp::GotoDefinitionParams, _>(params, |document, params| {
                    let place = params.text_document_position_params;
                    features::definition(document, place.position)
                })
            }
            request::References::METHOD => {
                self.at::<lsp::ReferenceParams, _>(params, |document, params| {
                    let place = params.text_document_position;
                    let declaration = params.context.include_declaration;
                    features::references(document, place.position, declaration)
                })
            }
            request::DocumentHighlightRequest::METHOD => self
                .at::<lsp::DocumentHighlightParams, _>(params, |document, params| {
                    let place = params.text_document_position_params;
                    features::highlights(document, place.position)
                }),
            request::PrepareRenameRequest::METHOD => self
                .at::<lsp::TextDocumentPositionParams, _>(params, |document, params| {
                    features::renamable(document, params.position)
                }),
            request::Rename::METHOD => {
                let (uri, params) = addressed::<lsp::RenameParams>(params)?;
                let Some(document) = self.documents.get(&uri) else {
                    return Ok(Value::Null);
                };
                let position = params.text_document_position.position;
                features::rename(document, position, &params.new_name)
                    .map(|edit| json!(edit))
                    .map_err(|message| (ErrorCode::RequestFailed, message))
            }
            request::DocumentSymbolRequest::METHOD => self
                .at::<lsp::DocumentSymbolParams, _>(params, |document, _| {
                    features::symbols(document)
                }),
            request::Formatting::METHOD => self
                .at::<lsp::DocumentFormattingParams, _>(params, |document, _| {
                    features::formatting(document)
                }),
            request::Completion::METHOD => {
                self.at::<lsp::CompletionParams, _>(params, |document, params| {
                    let place = params.text_document_position;
                    features::completion(document, place.position)
                })
            }
            request::CodeActionRequest::METHOD => self
                .at::<lsp::CodeActionParams, _>(params, |document, params| {
                    findings::actions(document, params.range)
                }),
            request::CodeLensRequest::METHOD => {
                self.at::<lsp::CodeLensParams, _>(params, |document, _| verdicts::lenses(document))
            }
            other => Err((
                ErrorCode::MethodNotFound,
                format!("`{other}` is not supported"),
            )),
        }
    }

    /// The answer to a request about an open text. About a text that is not open, the answer is null.
    fn at<P: DeserializeOwned, R: Serialize>(
        &self,
        params: Value,
        answer: impl FnOnce(&Document, P) -> R,
    ) -> Result<Value, Refusal> {
        let (uri, params) = addressed::<P>(params)?;
        let document = self.documents.get(&uri);
        Ok(document.map_or(Value::Null, |document| json!(answer(document, params))))
    }

    fn notified(&mut self, notification: Notification) {
        if self.life != Life::Running {
            return;
        }
        let params = notification.params;
        match notification.method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                if let Ok(params) = read::<lsp::DidOpenTextDocumentParams>(params) {
                    let it = params.text_document;
                    self.opened(Document::new(it.uri, it.version, it.text));
                }
            }
            notification::DidChangeTextDocument::METHOD => {
                if let Ok(params) = read::<lsp::DidChangeTextDocumentParams>(params)
                    && let uri = params.text_document.uri.as_str().to_owned()
                    && let Some(document) = self.documents.get(&uri)
                {
                    let version = params.text_document.version;
                    let changed = document.changed(version, params.content_changes);
                    self.opened(changed);
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                if let Ok(params) = read::<lsp::DidCloseTextDocumentParams>(params) {
                    let uri = params.text_document.uri;
                    self.forget(uri.as_str());
                    self.documents.remove(uri.as_str());
                    let none = lsp::PublishDiagnosticsParams::new(uri, Vec::new(), None);
                    self.notify::<notification::PublishDiagnostics>(none);
                }
            }
            notification::Cancel::METHOD => {
                if let Some(id) = params.get("id") {
                    let same = |job: &&Job| json!(job.request) == *id;
                    self.cancel(self.jobs.values().find(same));
                }
            }
            notification::WorkDoneProgressCancel::METHOD => {
                if let Some(token) = params.get("token") {
                    let mut jobs = self.jobs.iter();
                    let found = jobs.find(|(number, _)| json!(token_of(**number)) == *token);
                    self.cancel(found.map(|(_, job)| job));
                }
            }
            _ => {}
        }
    }

    fn cancel(&self, job: Option<&Job>) {
        if let Some(job) = job {
            job.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Cancels the checks of a text.
    fn forget(&self, uri: &str) {
        for job in self.jobs.values().filter(|job| job.uri == uri) {
            job.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Takes a text that was opened or changed. Checks of the text before are cancelled.
    fn opened(&mut self, document: Document) {
        let uri = document.uri.as_str().to_owned();
        self.forget(&uri);
        self.publish(&document);
        self.documents.insert(uri, document);
    }

    fn publish(&self, document: &Document) {
        self.notify::<notification::PublishDiagnostics>(lsp::PublishDiagnosticsParams {
            uri: document.uri.clone(),
            diagnostics: findings::diagnostics(document),
            version: Some(document.version),
        });
    }

    /// Starts a check.
    fn check(&mut self, id: RequestId, params: Value) -> Result<(), Refusal> {
        let params: lsp::ExecuteCommandParams = read(params)?;
        if params.command != verdicts::CHECK {
            let message = format!("no command named `{}`", params.command);
            return Err((ErrorCode::InvalidParams, message));
        }
        let mut arguments = params.arguments.into_iter();
        let uri: lsp::Uri = read(arguments.next().unwrap_or_default())?;
        let target: Target = match arguments.next() {
            None => Target::default(),
            Some(target) => read(target)?,
        };
        let failed = |message: &str| (ErrorCode::RequestFailed, message.to_owned());
        let uri = uri.as_str().to_owned();
        let document = self.documents.get_mut(&uri);
        let document = document.ok_or_else(|| failed("this text is not open"))?;
        let protocol = document.loaded.as_ref();
        let protocol = protocol.map_err(|_| failed("this text has mistakes"))?;
        self.count += 1;
        let number = self.count;
        let cancel = Arc::new(AtomicBool::new(false));
        let question = Question {
            protocol: protocol.clone(),
            name: uri.clone(),
            target: target.clone(),
            timeout: self.timeout,
            cancel: Arc::clone(&cancel),
        };
        let thread = interrupt::spawn(self.events.clone(), move |events| {
            let tell = |what: &str| {
                let _ = events.send(Event::Stage(number, what.to_owned()));
            };
            let result = interrupt::guarded(|| question.answer(&tell));
            let _ = events.send(Event::Decided(number, result));
        })
        .map_err(|failure| failed(&failure.rendered(warplock::report::style::Style::PLAIN)))?;
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(thread);
        let (before, others) = std::mem::take(&mut document.verdicts)
            .into_iter()
            .partition(|verdict| verdict.is_about(&target));
        document.verdicts = others;
        let before: Vec<Verdict> = before;
        before.iter().for_each(Verdict::cancel);
        let running = Verdict::running(target.clone(), Arc::clone(&cancel));
        document.verdicts.push(running);
        let job = Job {
            uri,
            version: document.version,
            target,
            cancel,
            request: id,
        };
        self.jobs.insert(number, job);
        if self.client.shows_progress {
            let token = token_of(number);
            self.ask::<request::WorkDoneProgressCreate>(lsp::WorkDoneProgressCreateParams {
                token,
            });
            let begin = lsp::WorkDoneProgressBegin {
                title: "warplock check".to_owned(),
                cancellable: Some(true),
                ..lsp::WorkDoneProgressBegin::default()
            };
            self.progress(number, lsp::WorkDoneProgress::Begin(begin));
        }
        self.refresh();
        Ok(())
    }

    fn refresh(&mut self) {
        if self.client.refreshes_lenses {
            self.ask::<request::CodeLensRefresh>(());
        }
    }

    fn progress(&self, number: u64, value: lsp::WorkDoneProgress) {
        if self.client.shows_progress {
            self.notify::<notification::Progress>(lsp::ProgressParams {
                token: token_of(number),
                value: lsp::ProgressParamsValue::WorkDone(value),
            });
        }
    }

    fn report(&self, number: u64, what: &str) {
        if self.jobs.contains_key(&number) {
            let report = lsp::WorkDoneProgressReport {
                message: Some(what.to_owned()),
                ..lsp::WorkDoneProgressReport::default()
            };
            self.progress(number, lsp::WorkDoneProgress::Report(report));
        }
    }

    /// Handles the end of a check.
    fn decided(&mut self, number: u64, result: Result<Vec<Finding>, Failure>) {
        let Some(job) = self.jobs.remove(&number) else {
            return;
        };
        let end = lsp::WorkDoneProgress::End(lsp::WorkDoneProgressEnd::default());
        self.progress(number, end);
        let cancelled = job.cancel.load(Ordering::Relaxed);
        let mut shown = None;
        let answer = match result {
            _ if cancelled => Err((ErrorCode::RequestCanceled, "cancelled".to_owned())),
            Ok(findings) => {
                let answer = json!({ "findings": findings });
                shown = Some(findings);
                Ok(answer)
            }
            Err(failure) => Err((
                ErrorCode::RequestFailed,
                failure.rendered(warplock::report::style::Style::PLAIN),
            )),
        };
        let document = self.documents.get_mut(&job.uri);
        if let Some(document) = document.filter(|document| document.version == job.version) {
            document
                .verdicts
                .retain(|verdict| !verdict.is_work_of(&job.cancel));
            if let Some(findings) = shown {
                let done = Verdict::done(job.target, findings);
                document.verdicts.push(done);
            }
        }
        if let Some(document) = self.documents.get(&job.uri) {
            self.publish(document);
        }
        self.answer(job.request, answer);
        self.refresh();
    }
}

fn token_of(number: u64) -> lsp::ProgressToken {
    lsp::ProgressToken::String(format!("warplock-{number}"))
}

fn read<P: DeserializeOwned>(params: Value) -> Result<P, Refusal> {
    serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}

/// The URI of the text that a request is about, and the parameters of the request.
fn addressed<P: DeserializeOwned>(params: Value) -> Result<(String, P), Refusal> {
    let uri = params.pointer("/textDocument/uri");
    let uri = uri.and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((uri, read(params)?))
}
