//! A server of the soak: executes calls, and notes each before it answers.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use floe::settings::Compression;
use floe::tls::{Tls, TlsIdentity, TlsSettings};
use floe::{
    Adapter, Current, Dispatcher, Identity, InvokeError, Settings, SystemException, TypedProxy,
};

use crate::contract::soak::{
    CallerProxy, Refused, RefusedError, Target, TargetBlocking, TargetDispatcher,
};
use crate::id::CallId;
use crate::journal::{Journal, Note};
use crate::mistakes::{Mistake, Mistakes};

/// Which face of the library a member uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Face {
    /// Tasks.
    Async,
    /// Threads.
    Blocking,
}

/// Serves the object `target`, until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The endpoints to listen on
    #[arg(long)]
    listen: String,
    #[arg(long, value_enum)]
    face: Face,
    /// Where to note what was executed
    #[arg(long)]
    journal: PathBuf,
    /// The folder of the certificates
    #[arg(long)]
    certificates: PathBuf,
    /// A mistake to make on purpose, so that the audit can be seen to find it
    #[arg(long, value_enum)]
    mistake: Option<Mistake>,
}

impl Server {
    pub(crate) fn run(&self) -> ExitCode {
        crate::run::log::start();
        let journal = Journal::create(&self.journal).expect("a new journal");
        journal.note_panics().expect("one more descriptor");
        let target = Executing {
            journal,
            mistakes: Mistakes::new(self.mistake),
        };
        let mut settings = settings(&self.certificates, "server");
        settings.compressions = vec![
            Compression::Zstd,
            Compression::Brotli,
            Compression::ZstdStream,
            Compression::ZstdBatch,
        ];
        match self.face {
            Face::Async => serve(&self.listen, settings, target),
            Face::Blocking => serve_blocking(&self.listen, settings, target),
        }
        ExitCode::SUCCESS
    }
}

#[tokio::main(worker_threads = 2)]
async fn serve(listen: &str, settings: Settings, target: Executing) {
    let communicator = floe::Communicator::with_settings(settings);
    let adapter = communicator.adapter(listen).await.expect("free endpoints");
    open(&adapter, Arc::new(TargetDispatcher::new(target)));
    let ended = tokio::task::spawn_blocking(wait_for_end);
    ended.await.expect("no panic");
    communicator.shutdown().await;
}

fn serve_blocking(listen: &str, settings: Settings, target: Executing) {
    let communicator = floe::blocking::Communicator::with_settings(settings);
    let adapter = communicator.adapter(listen).expect("free endpoints");
    open(&adapter, Arc::new(TargetDispatcher::blocking(target)));
    wait_for_end();
    communicator.shutdown();
}

fn open(adapter: &Adapter, target: Arc<dyn Dispatcher>) {
    let proxy = adapter.add("target", target).expect("the first");
    adapter.activate();
    println!("ready {proxy}");
}

/// Waits until standard input ends: so a member ends with the one that started it.
pub(crate) fn wait_for_end() {
    // What comes there means nothing; a broken pipe is an end, too.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
}

/// Settings of a member: bounded waits, and an identity.
pub(crate) fn settings(certificates: &std::path::Path, identity: &str) -> Settings {
    let mut tls = TlsSettings::default();
    tls.ca_files.push(certificates.join("ca.pem").into());
    let file = |suffix| certificates.join(format!("{identity}.{suffix}"));
    tls.identity = Some(TlsIdentity::pem(file("pem"), file("key")));
    let mut settings = Settings::default();
    settings.tls = Some(Tls::load(tls).expect("certificates of the run"));
    settings.connect_timeout = Duration::from_secs(5);
    settings.close_timeout = Duration::from_secs(5);
    for liveness in [&mut settings.outgoing, &mut settings.incoming] {
        liveness.heartbeat_interval = Duration::from_secs(2);
        liveness.idle_timeout = Duration::from_secs(10);
    }
    settings
}

/// The servant.
struct Executing {
    journal: Journal,
    mistakes: Mistakes,
}

impl Executing {
    fn execute(&self, id: i64) {
        if self.mistakes.is_due(Mistake::Lose) {
            return;
        }
        let id = CallId(id.cast_unsigned());
        self.journal.note(id, Note::Executed);
        if self.mistakes.is_due(Mistake::Double) {
            self.journal.note(id, Note::Executed);
        }
        self.mistakes.make_others();
    }

    fn caller(current: &Current) -> Result<CallerProxy, SystemException> {
        let connection = current.connection().ok_or_else(|| {
            SystemException::UnknownException("expected a call over a connection".into())
        })?;
        let caller = connection.proxy(Identity::new("caller"));
        Ok(CallerProxy::from_proxy(caller))
    }
}

impl Target for Executing {
    async fn once(&self, id: i64, current: &Current) -> Result<(), InvokeError> {
        self.execute(id);
        // In a batch it would hold up those behind it, and what is found then hides the rest.
        if !current.is_oneway() && self.mistakes.is_due(Mistake::Hang) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn again(&self, id: i64, _: &Current) -> Result<(), InvokeError> {
        self.execute(id);
        Ok(())
    }

    async fn refuse(&self, id: i64, _: &Current) -> Result<(), RefusedError> {
        self.execute(id);
        Err(Refused { id }.into())
    }

    async fn carry(&self, id: i64, data: Vec<u8>, _: &Current) -> Result<Vec<u8>, InvokeError> {
        self.execute(id);
        Ok(data)
    }

    async fn linger(&self, id: i64, duration: i32, _: &Current) -> Result<(), InvokeError> {
        tokio::time::sleep(millis(duration)).await;
        self.execute(id);
        Ok(())
    }

    async fn call_back(&self, id: i64, current: &Current) -> Result<(), InvokeError> {
        Self::caller(current)?.called_back(id).await?;
        self.execute(id);
        Ok(())
    }
}

impl TargetBlocking for Executing {
    fn once(&self, id: i64, _: &Current) -> Result<(), InvokeError> {
        self.execute(id);
        Ok(())
    }

    fn again(&self, id: i64, _: &Current) -> Result<(), InvokeError> {
        self.execute(id);
        Ok(())
    }

    fn refuse(&self, id: i64, _: &Current) -> Result<(), RefusedError> {
        self.execute(id);
        Err(Refused { id }.into())
    }

    fn carry(&self, id: i64, data: Vec<u8>, _: &Current) -> Result<Vec<u8>, InvokeError> {
        self.execute(id);
        Ok(data)
    }

    fn linger(&self, id: i64, duration: i32, _: &Current) -> Result<(), InvokeError> {
        std::thread::sleep(millis(duration));
        self.execute(id);
        Ok(())
    }

    fn call_back(&self, id: i64, current: &Current) -> Result<(), InvokeError> {
        // Such a servant cannot wait for a reply over its own connection.
        let caller = Self::caller(current)?.ice_oneway();
        caller.called_back(id).wait()?;
        self.execute(id);
        Ok(())
    }
}

fn millis(duration: i32) -> Duration {
    Duration::from_millis(duration.clamp(0, 1000).unsigned_abs().into())
}
