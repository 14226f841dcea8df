//! The implementation of [`Protocol`](crate::Protocol) and [`Encodes`](crate::trace_unit::Encodes)
//! that ETMv1 and ETMv2 share: a trace unit with a port, each packet of which is one core cycle.

/// Declares the type of such a protocol and implements both traits for it.
///
/// The folder that uses the macro has the modules `config`, `encode` and `sync` and the types
/// `Config`, `Packet`, `Decoder`, `Encoder` and `Settings` in scope.
macro_rules! port_protocol {
    (
        $(#[$about:meta])*
        $protocol:ident,
        name: $name:literal,
        title: $title:literal,
        core: $core:literal,
        $(#[$about_usual:meta])*
        usual: $usual:expr,
        $(#[$about_sync:meta])*
        is_sync: $is_sync:expr,
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $protocol;

        impl $crate::Protocol for $protocol {
            const NAMES: &'static [&'static str] = &[$name];
            const TITLE: &'static str = $title;
            const REGISTERS: &'static [tracewright_base::Register] = config::REGISTERS;
            const RESUME: $crate::Resume = $crate::Resume::Next;
            const FORM: $crate::TraceForm = $crate::TraceForm::Cycles;
            const ID_REGISTER: Option<(&'static str, u32)> = None;
            const ISAS: &'static [tracewright_base::Isa] =
                &[tracewright_base::Isa::A32, tracewright_base::Isa::T32];

            type Config = Config;
            type Packet = Packet;
            type Decoder = Decoder;

            fn configure(
                _core: Option<tracewright_base::CoreType>,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<Config, tracewright_base::MissingRegister> {
                Config::new(register)
            }

            /// The port has no trace IDs.
            fn trace_id(_config: &Config) -> u8 {
                0
            }

            /// Every instruction has its own status, so barriers end no block.
            fn waypoints(_config: &Config) -> tracewright_base::Waypoints {
                tracewright_base::Waypoints::default()
            }

            fn exception_name(
                _config: &Config,
                number: u16,
            ) -> Option<alloc::borrow::Cow<'static, str>> {
                $crate::flow::Vector::name(number).map(alloc::borrow::Cow::Borrowed)
            }

            fn sync(_config: &Config, bytes: &[u8]) -> tracewright_base::SyncSearch {
                sync::find(bytes)
            }

            $(#[$about_sync])*
            fn is_sync(packet: &Packet) -> bool {
                let is_sync: fn(&Packet) -> bool = $is_sync;
                is_sync(packet)
            }
        }

        impl $crate::trace_unit::Encodes for $protocol {
            type Encoder = Encoder;

            $(#[$about_usual])*
            const USUAL: &'static [(&'static str, u64)] = $usual;

            const CORE: &'static str = $core;

            const SETTINGS: &'static [$crate::trace_unit::Setting] = encode::SETTINGS;

            fn settings(_config: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
                Settings::new(setting)
            }
        }
    };
}

pub(crate) use port_protocol;
