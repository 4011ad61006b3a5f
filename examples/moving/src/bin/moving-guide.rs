//! A guide who moves from hall to hall, and a visitor who finds it by a proxy that never changes.
//!
//! Usage: `moving-guide [LOCATOR]`

use std::process::ExitCode;

use floe::settings::AdapterSettings;
use floe::{Communicator, Current, InvokeError, Settings};
use moving::demo::{Guide, GuideDispatcher, GuideProxy};

struct InHall(&'static str);

impl Guide for InHall {
    async fn hall(&self, _current: &Current) -> Result<String, InvokeError> {
        Ok(self.0.to_owned())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("moving-guide: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let locator = std::env::args().nth(1);
    let locator = locator
        .as_deref()
        .unwrap_or("locator:tcp -h 127.0.0.1 -p 4068");
    let mut settings = Settings::default();
    settings.locator = Some(locator.parse()?);
    // The visitor might as well be another process.
    let visiting = Communicator::with_settings(settings.clone());
    let guide: GuideProxy = visiting.proxy("guide @ Hall")?;

    for hall in ["the first hall", "the second hall"] {
        let communicator = Communicator::with_settings(settings.clone());
        let mut named = AdapterSettings::default();
        named.adapter_id = Some("Hall".to_owned());
        // Any free port: nobody needs to know it.
        let adapter = communicator
            .adapter_with("tcp -h 127.0.0.1 -p 0", named)
            .await?;
        adapter.add("guide", GuideDispatcher::new(InHall(hall)))?;
        adapter.activate();
        adapter.register().await?;
        println!("in {}", guide.hall().await?);
        // This tells the locator of the end.
        communicator.shutdown().await;
    }
    match guide.hall().await {
        Err(InvokeError::NotDispatched(floe::LocalError::NotRegistered { .. })) => {
            println!("closed");
        }
        other => println!("expected that nobody is there, got {other:?}"),
    }
    visiting.shutdown().await;
    Ok(())
}
