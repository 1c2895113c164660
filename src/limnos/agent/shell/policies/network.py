"""Programs that talk to other machines: fetching a page to the output is harmless, the rest asks."""

from limnos.agent.shell.options import RUNS, SENDS, SETTINGS, UNSEEN, WRITES, Call, Options, Policy
from limnos.agent.shell.policies.targets import at_most, plain_urls

_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_SCHEMES = frozenset({"http", "https"})
_IDENTITY = "uses or shows a password or key"
_DETOUR = "goes another way than the address says"


def _curl(call: Call, options: Options) -> str:
    methods = options.values.get("-X", []) + options.values.get("--request", [])
    if any(method.upper() not in _READ_METHODS for method in methods):
        return f"sends a {methods[0]} request"
    texts = options.values.get("-w", []) + options.values.get("--write-out", [])
    headers = options.values.get("-H", []) + options.values.get("--header", [])
    if any(text.startswith("@") or "%output" in text for text in (*texts, *headers)):
        return "reads or writes a file named in a flag"
    files = options.values.get("-o", []) + options.values.get("--output", [])
    if any(file not in ("-", "/dev/null") for file in files):
        return WRITES
    for allowed in options.values.get("--proto", []):
        if not set(allowed.lstrip("=").split(",")) <= _SCHEMES:
            return f"opens addresses of {allowed}"
    return plain_urls(call, options, (*options.operands, *options.values.get("--url", [])))


def _wget(call: Call, options: Options) -> str:
    files = options.values.get("-O", []) + options.values.get("--output-document", [])
    to_output = files and all(file in ("-", "/dev/null") for file in files)
    if not to_output and "--spider" not in options.values:
        return WRITES
    return plain_urls(call, options)


def _httpie(call: Call, options: Options) -> str:
    if len(options.operands) > 1 and options.operands[0] not in _READ_METHODS:
        return SENDS
    return plain_urls(call, options)


def _ip(call: Call, options: Options) -> str:
    del call
    tells = len(options.operands) < 2 or options.operands[1] in ("show", "list", "ls", "get")
    return "" if tells else "changes the network"


POLICIES: dict[str, Policy] = {
    "curl": Policy(
        "sSLfIvi#gNG46m:A:H:X:w:o:e:r:ahMVZ0",
        "silent show-error location fail fail-with-body fail-early head verbose include progress-bar "
        "no-progress-meter globoff no-buffer get ipv4 ipv6 max-time: connect-timeout: "
        "retry: retry-delay: retry-max-time: "
        "retry-connrefused retry-all-errors user-agent: header: request: write-out: "
        "output: referer: range: compressed "
        "http1.0 http1.1 http2 http3 tlsv1.2 tlsv1.3 max-redirs: max-filesize: limit-rate: "
        "speed-limit: speed-time: "
        "no-keepalive keepalive-time: tcp-nodelay help version path-as-is styled-output "
        "no-styled-output parallel "
        "parallel-max: proto: disallow-username-in-url raw url:",
        (
            (
                "O remote-name remote-name-all J remote-header-name output-dir: create-dirs D: "
                "dump-header: c: cookie-jar: trace: trace-ascii: stderr: etag-save: libcurl: hsts: "
                "alt-svc: C: continue-at:",
                WRITES,
            ),
            (
                "T: upload-file: d: data: data-ascii: data-binary: data-raw: data-urlencode: F: "
                "form: form-string: json: url-query: P: ftp-port: Q: quote: t: telnet-option: "
                "mail-from: mail-rcpt:",
                SENDS,
            ),
            ("K: config: netrc-file: n netrc netrc-optional q disable variable: expand-url:", SETTINGS),
            (
                "u: user: E: cert: key: U: proxy-user: oauth2-bearer: b: cookie: aws-sigv4: pass: "
                "delegation: negotiate anyauth basic digest ntlm location-trusted",
                _IDENTITY,
            ),
            (
                "x: proxy: preproxy: socks5: socks4: socks4a: socks5-hostname: unix-socket: "
                "abstract-unix-socket: resolve: connect-to: interface: dns-servers: doh-url: "
                "proxy-header: haproxy-protocol",
                _DETOUR,
            ),
            (
                "engine: cacert: capath: ciphers: insecure z: time-cond: next : etag-compare: "
                "request-target: proto-redir: proto-default:",
                "is not known to be harmless",
            ),
        ),
        _curl,
    ),
    "wget": Policy(
        "qSO:T:t:U:46hVd",
        "quiet no-verbose server-response output-document: timeout: tries: user-agent: "
        "header: spider verbose https-only "
        "no-cache connect-timeout: read-timeout: dns-timeout: wait: max-redirect: "
        "inet4-only inet6-only help version "
        "show-progress progress: no-hsts no-netrc no-config no-proxy retry-connrefused "
        "waitretry: compression:",
        (
            ("use-askpass: e: execute: config:", RUNS),
            ("i: input-file: B: base:", UNSEEN),
            (
                "P: directory-prefix: o: output-file: a: append-output: save-cookies: warc-file: N "
                "c continue r recursive m mirror p k x nc rejected-log: save-headers delete-after "
                "content-disposition trust-server-names hsts-file:",
                WRITES,
            ),
            ("post-data: post-file: body-data: body-file: method:", SENDS),
            (
                "user: password: http-user: http-password: ftp-user: ftp-password: load-cookies: "
                "certificate: private-key: ask-password proxy-user: proxy-password:",
                _IDENTITY,
            ),
            (
                "no-check-certificate ca-certificate: bind-address: I: A: R: D: l:",
                "is not known to be harmless",
            ),
        ),
        _wget,
    ),
    "http": Policy(
        "hbv",
        "headers body verbose help version timeout: follow pretty: ignore-stdin print:",
        operands=_httpie,
    ),
    "ping": Policy("c:i:W:w:46nqs:t:", "help version count: interval: timeout:"),
    "dig": Policy("46t:x:p:q:c:", "", (("f: k: y:", SETTINGS),)),
    "host": Policy("atvCdlrs46W:R:"),
    "nslookup": Policy("", "", (), at_most(2)),
    "whois": Policy("Hh:p:"),
    "traceroute": Policy("46nm:q:w:", "help version"),
    "tracepath": Policy("46bnm:"),
    "mtr": Policy("rc:n46wbj", "report report-cycles: no-dns json"),
    "ip": Policy(
        "",
        "4 6 j json p pretty s stats statistics o oneline br brief c? color? d details h human "
        "human-readable r resolve f: family: N Numeric t timestamp ts tshort a all V Version",
        (("b: batch: rc: rcvbuf: force", UNSEEN), ("n: netns:", "works in another network")),
        _ip,
        dashes="one",
    ),
    "ifconfig": Policy("as", "", operands=at_most(1)),
    "route": Policy("n", "", operands=at_most(0)),
}
POLICIES["https"] = POLICIES["http"]
