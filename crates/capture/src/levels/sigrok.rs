//! Session files of sigrok, version 2: a ZIP archive with `metadata` and samples of logic channels.
//!
//! A sample has `unitsize` bytes, little endian; the channel `probeN` is bit N - 1.

use std::io::Read;

use super::port::Port;
use super::signals::Signals;
use super::zip::Archive;
use crate::Bytes;
use crate::limits::{MAX_LEVELS, MAX_SAMPLES};
use crate::plain::line;

/// The greatest size of `metadata`.
const MAX_METADATA: u64 = 1 << 20;
/// The greatest size of a sample in bytes.
const MAX_UNIT: usize = 64;
/// Bytes of samples that are read at a time.
const BLOCK: usize = 1 << 16;

/// Reads the recording of a port.
pub(super) fn read(file: &Bytes, signals: &mut Signals, port: &mut Port) -> Result<(), String> {
    let recording = Recording::open(file)?;
    let mut bits = Vec::new();
    for (channel, name) in &recording.device.channels {
        if let Some(bit) = signals.find("", name, None)? {
            bits.push((*channel, bit));
        }
    }
    if let Some(width) = signals.check()? {
        port.set_width(width);
    }
    recording.each(|sample| {
        let levels = bits.iter().map(|&(channel, bit)| {
            let byte = sample.get(channel / 8).copied().unwrap_or(0);
            u128::from(byte >> (channel % 8) & 1) << bit
        });
        port.levels(levels.fold(0, |all, one| all | one), 0)
    })
}

/// A recording: its description, and where its samples are.
pub(super) struct Recording<'a> {
    file: &'a Bytes,
    archive: Archive,
    pub(super) device: Device,
}

impl Recording<'_> {
    /// Reads the description.
    pub(super) fn open(file: &Bytes) -> Result<Recording<'_>, String> {
        let archive = Archive::read(file)?;
        let metadata = archive.members.iter().find(|member| member.name == "metadata");
        let metadata = metadata.ok_or("the archive has no `metadata`, so it is not of sigrok")?;
        let mut text = Vec::new();
        let mut reader = archive.reader(metadata)?.take(MAX_METADATA + 1);
        reader.read_to_end(&mut text).map_err(|error| error.to_string())?;
        if text.len() as u64 > MAX_METADATA {
            return Err(format!("`metadata` has more than {MAX_METADATA} bytes"));
        }
        let device = device(&String::from_utf8_lossy(&text))?;
        drop(reader);
        Ok(Recording { file, archive, device })
    }

    /// Passes each sample to `take`.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let Device { name, unit, .. } = &self.device;
        // One member, or parts that are numbered from 1.
        let prefix = format!("{name}-");
        let mut parts: Vec<(u32, _)> = self
            .archive
            .members
            .iter()
            .filter_map(|member| {
                let part = match member.name.strip_prefix(&prefix) {
                    Some(part) => part.parse().ok()?,
                    None if member.name == *name => 0,
                    None => return None,
                };
                Some((part, member))
            })
            .collect();
        parts.sort_by_key(|(part, _)| *part);
        if parts.is_empty() {
            return Err(format!("the archive has no samples `{}`", line(name)));
        }
        // Entries of the directory for the same bytes would unpack them any number of times.
        let packed: u64 = parts.iter().map(|(_, member)| member.packed()).sum();
        if packed > self.file.size() {
            return Err("members of the archive overlap".to_owned());
        }
        let (always, each) = MAX_SAMPLES;
        let most = self.file.size().saturating_mul(each).saturating_add(always).min(MAX_LEVELS);
        let mut left = most;
        let mut samples = Vec::with_capacity(BLOCK + MAX_UNIT);
        for (_, member) in parts {
            let mut reader = self.archive.reader(member)?;
            loop {
                let mut block = reader.by_ref().take(BLOCK as u64);
                let read = block.read_to_end(&mut samples).map_err(|error| {
                    format!("`{}` cannot be unpacked: {error}", line(&member.name))
                })?;
                if read == 0 {
                    break;
                }
                left = left
                    .checked_sub(read as u64)
                    .ok_or_else(|| format!("the samples have more than {most} bytes; divide it"))?;
                let whole = samples.len() / unit * unit;
                samples.chunks_exact(*unit).try_for_each(&mut take)?;
                samples.drain(..whole);
            }
        }
        Ok(())
    }
}

/// The device with logic channels.
pub(super) struct Device {
    /// The name of the members with samples.
    name: String,
    /// The size of a sample in bytes.
    unit: usize,
    /// Samples in a second, if it is recorded.
    pub(super) rate: Option<u64>,
    /// The channels: bit in a sample, and name.
    pub(super) channels: Vec<(usize, String)>,
}

fn device(text: &str) -> Result<Device, String> {
    let (mut name, mut unit, mut rate, mut channels) = (None, None, None, Vec::new());
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let (key, value) = (key.trim(), value.trim());
        match key {
            "capturefile" if name.is_some() => {
                return Err("it has the recordings of several devices; export one".to_owned());
            }
            "capturefile" => name = Some(value.to_owned()),
            "unitsize" => unit = value.parse().ok(),
            "samplerate" => rate = hertz(value),
            _ => {
                let number = key.strip_prefix("probe").and_then(|n| n.parse::<usize>().ok());
                if let Some(number @ 1..=512) = number {
                    channels.push((number - 1, value.to_owned()));
                }
            }
        }
    }
    let name = name.ok_or("`metadata` names no `capturefile` with logic channels")?;
    let unit = unit
        .filter(|unit| (1..=MAX_UNIT).contains(unit))
        .ok_or_else(|| format!("`metadata` has no `unitsize` from 1 to {MAX_UNIT}"))?;
    if channels.iter().any(|(channel, _)| channel / 8 >= unit) {
        return Err("`metadata` has more channels than a sample has bits".to_owned());
    }
    Ok(Device { name, unit, rate, channels })
}

/// A frequency: `24 MHz`, `1.5 kHz`, `1000000`.
pub(super) fn hertz(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, unit) = text.split_at_checked(digits)?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "hz" => 1.0,
        "khz" => 1e3,
        "mhz" => 1e6,
        "ghz" => 1e9,
        _ => return None,
    };
    let hertz = (number.parse::<f64>().ok()? * factor).round();
    (1.0..=1e12).contains(&hertz).then_some(hertz as u64)
}
