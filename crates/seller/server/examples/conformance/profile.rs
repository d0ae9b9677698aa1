//! What the agent offers in each profile: one table, from which its card and its answers follow.

use tradepost_server::a2a::Capability;

/// What the agent says that it can do; the kit needs more than one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// Streams.
    Streaming,
    /// Streams, pushes, and has a card for authenticated callers.
    Push,
    /// Does nothing beyond answering and keeping tasks.
    Plain,
    /// Does not stream, and requires an extension.
    Strict,
    /// Like `push`, for callers with a credential alone.
    Secured,
    /// Declares a card for authenticated callers, and has none.
    Unset,
}

/// State of the card for authenticated callers (A2A §3.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtendedCard {
    /// The public card declares none.
    Off,
    /// The public card declares one, which is not configured.
    Unset,
    /// There is one.
    Set,
}

/// Features of a profile.
#[derive(Debug, Clone, Copy)]
struct Row {
    streaming: bool,
    push: bool,
    extended_card: ExtendedCard,
    requires_extension: bool,
    requires_credential: bool,
}

impl Profile {
    const fn row(self) -> Row {
        const NONE: Row = Row {
            streaming: false,
            push: false,
            extended_card: ExtendedCard::Off,
            requires_extension: false,
            requires_credential: false,
        };
        const EVERYTHING: Row =
            Row { streaming: true, push: true, extended_card: ExtendedCard::Set, ..NONE };
        match self {
            Self::Streaming => Row { streaming: true, ..NONE },
            Self::Push => EVERYTHING,
            Self::Plain => NONE,
            Self::Strict => Row { requires_extension: true, ..NONE },
            Self::Secured => Row { requires_credential: true, ..EVERYTHING },
            Self::Unset => Row { extended_card: ExtendedCard::Unset, ..NONE },
        }
    }

    /// Returns true when the agent has a capability, as its card declares.
    pub(crate) const fn has(self, capability: Capability) -> bool {
        let row = self.row();
        match capability {
            Capability::Tasks => true,
            Capability::Streaming => row.streaming,
            Capability::Push => row.push,
            Capability::ExtendedCard => match row.extended_card {
                ExtendedCard::Off => false,
                ExtendedCard::Unset | ExtendedCard::Set => true,
            },
        }
    }

    /// Whether there is a card for authenticated callers.
    pub(crate) const fn extended_card(self) -> ExtendedCard {
        self.row().extended_card
    }

    /// Whether callers without a credential are turned away.
    pub(crate) const fn requires_credential(self) -> bool {
        self.row().requires_credential
    }

    /// The extension of the card, and whether nothing is done without it: the one that the kit expects
    /// of an agent that requires one, or one that changes nothing.
    pub(crate) const fn extension(self) -> (&'static str, bool) {
        let required = self.row().requires_extension;
        let uri =
            if required { "urn:a2a:tck:required-extension" } else { "urn:tradepost:conformance" };
        (uri, required)
    }
}
