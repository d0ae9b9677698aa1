//! Bearer token of commands that call agents, and the origins that may receive it.

use tradepost_client::{BearerToken, Origin};

use super::Context;

/// Environment variable with the bearer token.
pub const TOKEN_VARIABLE: &str = "TRADEPOST_TOKEN";

/// Token of one caller.
#[derive(Debug, clap::Args)]
pub(super) struct TokenArguments {
    /// Bearer token. Other users of the machine can read this option, but not the environment
    /// variable TRADEPOST_TOKEN.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    #[command(flatten)]
    token_for: TokenFor,
}

/// Origins that may receive the token.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct TokenFor {
    /// Origin (scheme, host and port) that may receive the token, if the agent's card names another
    /// origin than the given URL. Repeatable. By default the token is sent only to the origin of
    /// the given URL and, for commands with --keys, to the origins in a card that one of these keys
    /// has signed.
    #[arg(long, value_name = "ORIGIN")]
    token_for: Vec<Origin>,
}

impl TokenArguments {
    /// Returns the token of the option or of the environment, for its origins.
    pub(super) fn bearer(&self, context: &Context) -> Option<BearerToken> {
        let token = self.given(context)?;
        Some(BearerToken::new(token).only_for(self.origins()))
    }

    /// Returns the same token without its origins.
    pub(super) fn given(&self, context: &Context) -> Option<String> {
        self.token.clone().or_else(|| token_variable(context))
    }

    /// Returns the origins that may receive it; empty when none were named.
    pub(super) fn origins(&self) -> Vec<Origin> {
        self.token_for.token_for.clone()
    }
}

impl TokenFor {
    /// Returns the token of the environment for these origins.
    pub(super) fn bearer(&self, context: &Context) -> Option<BearerToken> {
        Some(BearerToken::new(token_variable(context)?).only_for(self.token_for.clone()))
    }
}

fn token_variable(context: &Context) -> Option<String> {
    context.filled(TOKEN_VARIABLE).map(str::to_owned)
}
