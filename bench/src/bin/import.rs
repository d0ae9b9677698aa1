//! How long reading a feed takes beside a bare `csv` reader on the same file, in turns in one run, and
//! how much memory it needs beside the index that is made of it. Makes the file where there is none, and
//! otherwise prints Markdown.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use tradepost_dealer::import;
use tradepost_dealer::inventory::Inventory;
use tradepost_demo::dealer::{self as demo, feed::formats::DemoFormat};

/// That of the program that is shipped.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: import FILE ROWS ROUNDS")?;
    let rows: usize = arguments.next().ok_or("how many rows?")?.parse()?;
    let rounds: usize = arguments.next().ok_or("how many rounds?")?.parse()?;
    let path = Path::new(&path);
    let now = "2026-11-20T17:00:00Z".parse()?;
    if !path.exists() {
        // Sold units are rows, too: about one for each twelve on offer.
        let listings = demo::listings(rows * 12 / 13, 1, now);
        std::fs::write(path, DemoFormat::HomeNet.write(&listings)?)?;
        // What making it has needed is not what reading it needs: another process measures.
        return Ok(());
    }
    let mut bare = Vec::new();
    let mut feed = Vec::new();
    let mut bare_cpu = Duration::ZERO;
    let mut feed_cpu = Duration::ZERO;
    for _ in 0..rounds {
        let begun = Instant::now();
        let cpu = processor()?;
        let mut reader = csv::Reader::from_reader(File::open(path)?);
        let mut record = csv::StringRecord::new();
        let mut count = 0;
        while reader.read_record(&mut record)? {
            count += 1;
        }
        bare.push(begun.elapsed());
        bare_cpu += processor()?.saturating_sub(cpu);
        let begun = Instant::now();
        let cpu = processor()?;
        let sorted = import::read(File::open(path)?, &[demo::target()], now)?;
        feed.push(begun.elapsed());
        feed_cpu += processor()?.saturating_sub(cpu);
        let taken: usize = sorted.feeds.iter().map(|feed| feed.listings.len()).sum();
        if count != taken {
            return Err(format!("{count} rows, and {taken} units").into());
        }
    }
    let bare = median(bare);
    let feed = median(feed);
    let resident = resident()?;
    // What searches need, and every listing in it.
    let listings = import::read(File::open(path)?, &[demo::target()], now)?;
    let listings = listings.feeds.iter().flat_map(|feed| &feed.listings);
    let listings =
        listings.filter(|listing| !listing.sold).map(|listing| listing.vehicle).collect();
    let index = Inventory::build(listings, Vec::new())?.memory().total();
    let mut out = io::stdout().lock();
    writeln!(out, "| reader | rows | file MB | median ms | ratio | CPU ms | CPU ratio |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|")?;
    let size = std::fs::metadata(path)?.len() as f64 / 1e6;
    for (name, time, cpu) in [("bare csv", bare, bare_cpu), ("tradepost", feed, feed_cpu)] {
        let ratio = time.as_secs_f64() / bare.as_secs_f64();
        let cpu_ratio = cpu.as_secs_f64() / bare_cpu.as_secs_f64();
        let milliseconds = time.as_secs_f64() * 1e3;
        let cpu = cpu.as_secs_f64() * 1e3 / rounds as f64;
        writeln!(
            out,
            "| {name} | {rows} | {size:.1} | {milliseconds:.1} | {ratio:.2} | {cpu:.1} | {cpu_ratio:.2} |"
        )?;
    }
    let index = index as f64 / 1e6;
    writeln!(out, "\n{rows} rows: {resident} resident at most, for an index of {index:.1} MB.")?;
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The time that processors have spent on this process, in steps of ten milliseconds.
fn processor() -> io::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program is in brackets and may hold anything.
    let (_, numbers) = stat.rsplit_once(')').unwrap_or_default();
    let fields = numbers.split_whitespace().skip(11).take(2);
    let ticks = fields.filter_map(|field| field.parse::<u64>().ok());
    Ok(Duration::from_millis(ticks.sum::<u64>() * 10))
}

/// The most memory that the process has had, as Linux says it.
fn resident() -> io::Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.unwrap_or("unknown").trim().to_owned())
}
