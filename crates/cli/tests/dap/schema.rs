//! The schema of the Debug Adapter Protocol, as far as its file uses JSON Schema.

use serde_json::Value;
use tracewright_testing::shared;

pub struct Schema(Value);

impl Schema {
    /// The file beside the repository; skips visibly where it is absent.
    pub fn read() -> Option<Schema> {
        let path = shared("captures/dap/debugAdapterProtocol.json")?;
        let text = std::fs::read(path).expect("a file");
        Some(Schema(serde_json::from_slice(&text).expect("JSON")))
    }

    /// Fails where a message of the server is not valid.
    pub fn check(&self, message: &Value) {
        let command = |name: &str, kind: &str| {
            let text = message[name].as_str().unwrap_or_default();
            let (first, rest) = text.split_at(text.len().min(1));
            format!("{}{rest}{kind}", first.to_uppercase())
        };
        let name = match message["type"].as_str() {
            Some("event") => command("event", "Event"),
            Some("response") if message["success"] == true => command("command", "Response"),
            Some("response") => "ErrorResponse".to_owned(),
            _ => panic!("{message}"),
        };
        let definition = &self.0["definitions"][name.as_str()];
        assert!(definition.is_object(), "{name}: {message}");
        if let Err(why) = self.fits(definition, message) {
            panic!("{name}: {why}: {message}");
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/definitions/");
            return self.fits(&self.0["definitions"][name], value);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.fits(part, value)?;
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let fitting = choices.iter().filter(|one| self.fits(one, value).is_ok()).count();
            if fitting != 1 {
                return Err(format!("{fitting} choices fit {value}"));
            }
        }
        let is = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => false,
        };
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
            return Err(format!("{value} is not {kinds:?}"));
        }
        let choices = schema["enum"].as_array();
        if choices.is_some_and(|choices| !choices.contains(value)) {
            return Err(format!("{value} is not one of {choices:?}"));
        }
        if let Some(number) = value.as_f64() {
            let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
            let is_int32 = schema["format"] == "int32" && number.abs() > 2_147_483_647.0;
            if least.is_some_and(|least| number < least)
                || most.is_some_and(|most| number > most)
                || is_int32
            {
                return Err(format!("{value} is out of range"));
            }
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                return Err(format!("`{name}` is missing in {value}"));
            }
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            match schema["properties"].get(name) {
                Some(own) => self.fits(own, member)?,
                None if schema["additionalProperties"].is_object() => {
                    self.fits(&schema["additionalProperties"], member)?;
                }
                None => {}
            }
        }
        for item in value.as_array().into_iter().flatten() {
            self.fits(&schema["items"], item)?;
        }
        Ok(())
    }
}

/// The validator finds what is wrong.
#[test]
fn invalid_messages_are_found() {
    use serde_json::json;
    let Some(schema) = Schema::read() else { return };
    let good = json!({
        "seq": 1, "type": "event", "event": "stopped", "body": { "reason": "step", "threadId": 1 },
    });
    schema.check(&good);
    for (path, value) in [
        ("/body/reason", json!(3)),
        ("/body/threadId", json!("1")),
        ("/body/threadId", json!(3_000_000_000_u64)),
        ("/body", json!({})),
        ("/seq", json!(0)),
        ("/event", json!("begun")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).expect("a member") = value;
        let checked = std::panic::catch_unwind(|| schema.check(&bad));
        assert!(checked.is_err(), "{bad}");
    }
}
