"""The database of a persona's memory, script by script; the n-th makes version n of it."""

MIGRATIONS = (
    """
    -- one number that grows with every change of a unit: processes ask for what is newer than they know
    CREATE TABLE clock(
        one INTEGER PRIMARY KEY CHECK(one = 1), stamp INTEGER NOT NULL, epoch TEXT NOT NULL
    ) STRICT;
    INSERT INTO clock VALUES(1, 0, lower(hex(randomblob(8))));

    -- applied: the rows stand for the log up to here; saved: from here on a session goes on without the rest
    CREATE TABLE sessions(
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL,
        started TEXT NOT NULL DEFAULT '',
        last_seq INTEGER NOT NULL,
        applied INTEGER NOT NULL,
        applied_digest TEXT NOT NULL,
        state TEXT,
        saved_seq INTEGER NOT NULL DEFAULT 0,
        saved INTEGER NOT NULL DEFAULT 0,
        saved_digest TEXT NOT NULL DEFAULT '',
        damaged INTEGER NOT NULL DEFAULT 0,
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE units(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL REFERENCES sessions(number),
        seq INTEGER NOT NULL,
        agent TEXT NOT NULL,
        turn INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK(kind IN ('said', 'step', 'fact')),
        time TEXT NOT NULL,
        holder TEXT NOT NULL CHECK(holder IN ('window', 'cold', 'graph')),
        principal TEXT NOT NULL,
        origin TEXT NOT NULL,
        trust TEXT NOT NULL CHECK(trust IN ('trusted', 'untrusted')),
        content TEXT NOT NULL,
        digest TEXT NOT NULL,
        accesses INTEGER NOT NULL DEFAULT 0,
        last_access TEXT NOT NULL DEFAULT '',
        stamp INTEGER NOT NULL,
        UNIQUE(session, seq)
    ) STRICT;
    CREATE INDEX units_by_stamp ON units(stamp);

    CREATE TABLE blocks(
        unit INTEGER NOT NULL,
        place INTEGER NOT NULL,
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        trust TEXT NOT NULL,
        digest TEXT NOT NULL,
        payload TEXT NOT NULL DEFAULT '',
        PRIMARY KEY(unit, place)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blocks_by_payload ON blocks(payload) WHERE payload <> '';

    CREATE TABLE gone(unit INTEGER PRIMARY KEY, stamp INTEGER NOT NULL) STRICT;

    -- float16, little endian; of no length for a unit in which nothing is to be compared
    CREATE TABLE vectors(
        unit INTEGER NOT NULL, fingerprint TEXT NOT NULL, stamp INTEGER NOT NULL, row BLOB NOT NULL,
        PRIMARY KEY(unit, fingerprint)
    ) STRICT;
    CREATE INDEX vectors_by_stamp ON vectors(stamp);

    CREATE TABLE words(name TEXT PRIMARY KEY, epoch TEXT NOT NULL, data BLOB NOT NULL) STRICT;
    CREATE TABLE words_upto(
        one INTEGER PRIMARY KEY CHECK(one = 1), stamp INTEGER NOT NULL, epoch TEXT NOT NULL
    ) STRICT;

    CREATE TABLE taken(
        session INTEGER NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY(session, kind, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE kept(
        session INTEGER NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(session, seq)
    ) STRICT, WITHOUT ROWID;
    """,
)
