"""What can end a command besides its result, as one sentence with the next step, and the exit codes."""

from __future__ import annotations

from itemledger.core.answer import TerminalError
from itemledger.core.decision import Decision

USAGE = 2
OTHER = 1
EXIT_CODES = {
    Decision.ACCEPT: 0,
    Decision.RETRY: 3,
    Decision.HOLD: 4,
    Decision.REPAIR: 5,
    Decision.REJECT: 6,
}

#: How the library's messages name its options, and what the command line calls them.
_OPTIONS = {
    "pass fold_duplicates=True": "pass --fold-duplicates",
    "pass unprocessed_keys_optional=True": "pass --unprocessed-keys-optional",
    "give key= to do without": "give --key to do without",
}

#: The next step after an error of the service or the SDK, by its code.
_NEXT_STEPS = {
    "NoCredentialsError": "log in or name a profile (--profile, AWS_PROFILE)",
    "PartialCredentialsError": "set both the access key and the secret, or name a profile",
    "CredentialRetrievalError": "log in again or name another profile",
    "TokenRetrievalError": "log in again (aws sso login)",
    "UnauthorizedSSOTokenError": "log in again (aws sso login)",
    "SSOTokenLoadError": "log in (aws sso login)",
    "ExpiredTokenException": "the credentials have expired: log in again",
    "RequestExpired": "the credentials have expired or this machine's clock is off",
    "UnrecognizedClientException": "check the credentials and that they belong to this region's partition",
    "InvalidSignatureException": "check the secret access key and this machine's clock",
    "AccessDeniedException": "ask for that permission, or use other credentials (--profile)",
    "ResourceNotFoundException": "check the table's name, the region and the account (--region, --profile)",
    "EndpointConnectionError": "check the endpoint (--endpoint-url, --region) and the network",
    "ConnectTimeoutError": "check the endpoint (--endpoint-url, --region) and the network",
    "ReadTimeoutError": "check whether the endpoint answers, or give a longer --timeout",
    "ConnectionClosedError": "check what stands between here and the endpoint",
    "ProxyConnectionError": "check the proxy settings (HTTPS_PROXY)",
    "SSLError": "check the endpoint's certificate and AWS_CA_BUNDLE",
    "DamagedResponse": "check what stands between here and the endpoint",
    "ProvisionedThroughputExceededException": "wait, ask with less --concurrency, or raise the table's capacity",
    "ThrottlingException": "wait, ask with less --concurrency, or raise the table's limits",
    "RequestLimitExceeded": "wait, or raise the account's limits",
    "DeadlineReached": "check whether the endpoint answers, or give a longer --timeout",
}


class CommandError(Exception):
    """Ends a command with this sentence; the exit code says whose turn it is."""

    def __init__(self, sentence: str, *, exit_code: int = USAGE) -> None:
        super().__init__(in_command_line_words(sentence))
        self.exit_code = exit_code


def in_command_line_words(sentence: str) -> str:
    for ours, theirs in _OPTIONS.items():
        sentence = sentence.replace(ours, theirs)
    return sentence


def service_sentence(error: TerminalError, table: str, place: str) -> str:
    """What the service or the SDK said about which table at which endpoint, and what to do about it."""
    said = " ".join(error.message.split()).rstrip(".")
    request = f" (request {error.request_id})" if error.request_id else ""
    step = _NEXT_STEPS.get(error.code)
    return in_command_line_words(
        f"table {table} at {place}: {error.code}{f': {said}' if said else ''}{request}{f'; {step}' if step else ''}"
    )


def cannot_begin(error: TerminalError, table: str, place: str) -> CommandError:
    """The same, where the read has not begun: by the truth table it waits for a passing cause, or for somebody."""
    decision = Decision.RETRY if error.transient else Decision.HOLD
    return CommandError(
        f"{service_sentence(error, table, place)}; nothing was read or written",
        exit_code=EXIT_CODES[decision],
    )
