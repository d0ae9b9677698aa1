//! Bearer token of commands that call agents, and the origins that may receive it.

use tradepost_client::{BearerToken, Origin};

use super::Context;

/// Environment variable with the bearer token.
pub(super) const TOKEN_VARIABLE: &str = "TRADEPOST_TOKEN";

/// The token of one caller.
#[derive(Debug, clap::Args)]
pub(super) struct TokenArguments {
    /// A bearer token; better in the environment variable TRADEPOST_TOKEN, which other users of
    /// this machine cannot see.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    #[command(flatten)]
    token_for: TokenFor,
}

/// What a token is for.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct TokenFor {
    /// The origin that the token is for (scheme, host and port), where the agent's card leads to another one than the
    /// address that you give; may be repeated. Without it the token goes to the origin of that address alone and, for
    /// commands with --keys, to where a card leads that one of these keys has signed.
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
