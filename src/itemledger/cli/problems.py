"""What can end a command besides its result, as one sentence with the next step, and the exit codes."""

from __future__ import annotations

import re

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
    "give it to the sender: HttpSender(headers=...)": "give it with --header-env",
    "give HttpSender(headers=...) the credentials": "give the credentials with --header-env",
    "send it as a header of the sender": "send it as a header with --header-env",
    "plan with store_payloads=True, or give payload=": "plan with --store-payloads",
}
#: The members of targets and policies, and the bounds of a run, that are options.
MEMBERS = {
    "queue_url": "--queue-url",
    "topic_arn": "--topic-arn",
    "max_bytes": "--max-bytes",
    "stream_name": "--stream-name",
    "delivery_stream_name": "--delivery-stream-name",
    "event_bus_name": "--event-bus-name",
    "bucket": "--bucket",
    "quiet": "--quiet",
    "url": "--url",
    "index": "--index",
    "method": "--method",
    "headers": "--header",
    "key_life_s": "--key-life",
    "blocked_statuses": "--blocked-status",
    "request_bytes": "--request-bytes",
    "feature_group_name": "--feature-group-name",
    "record_identifier": "--record-identifier",
    "event_time": "--event-time",
    "max_attempts": "--max-attempts",
    "lease_s": "--lease",
    "call_timeout_s": "--call-timeout",
    "settle_s": "--settle",
    "backoff_cap_s": "--backoff-cap",
    "timeout_s": "--timeout",
    "concurrency": "--concurrency",
}
_MEMBER = re.compile(rf"(?<![\w-])({'|'.join(MEMBERS)})=(?=([^\s,;.)]?))")

#: The next step after an error of the service or the SDK, by its code.
NEXT_STEPS = {
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
    "QueueDoesNotExist": "check the queue's URL, the region and the account",
    "NotFound": "check its name, the region and the account",
    "NoSuchBucket": "check the bucket's name",
    "AccessDenied": "ask for that permission, or use other credentials (--profile)",
    "HTTP 401": "check the credentials (--header-env)",
    "HTTP 403": "check the credentials (--header-env) and what they may do",
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
    return _MEMBER.sub(lambda found: MEMBERS[found[1]] + ("=" if found[2] else ""), sentence)


def service_sentence(error: TerminalError, table: str, place: str) -> str:
    """What the service or the SDK said about which table at which endpoint, and what to do about it."""
    said = " ".join(error.message.split()).rstrip(".")
    request = f" (request {error.request_id})" if error.request_id else ""
    step = NEXT_STEPS.get(error.code)
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
