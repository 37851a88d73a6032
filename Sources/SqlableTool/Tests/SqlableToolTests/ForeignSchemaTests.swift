import Foundation
import Sqlable
import Testing

/// Tests that the models printed by `sqlable models` have the schema of the original file.
@Suite(
  .enabled(if: Program.tool.isAvailable && SwiftCompiler.isAvailable, "there is no compiler, or no built library"))
struct ForeignSchemaTests {
  @Test func printedModelsVerifyAgainstTheirFileAndNeedNoPlan() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/all.sqlite", configuration: .init(foreignKeys: false))
      for statement in ForeignSchemas.all { try db.execute(SQL(verbatim: statement)) }
      try db.close()
      try checkModels(ofFile: "all.sqlite", in: directory)
    }
  }

  /// The database files from Debian packages, which `.ci/foreign-files` downloads.
  private static let files: [String] = {
    guard let directory = ProcessInfo.processInfo.environment["SQLABLE_FOREIGN_FILES"] else { return [] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.sorted().map { directory + "/" + $0 }
  }()

  @Test(.enabled(if: !files.isEmpty, "SQLABLE_FOREIGN_FILES names no directory with files"), arguments: files)
  func printedModelsVerifyAgainstTheFilesOfOtherPrograms(path: String) throws {
    try withDirectory { directory in
      try FileManager.default.copyItem(atPath: path, toPath: directory + "/other.sqlite")
      try checkModels(ofFile: "other.sqlite", in: directory)
    }
  }

  /// Prints the models of a file, compiles the models, and expects that they match the file's schema and read its rows.
  private func checkModels(ofFile name: String, in directory: String) throws {
    let db = try SqliteDatabase(
      filepath: directory + "/" + name, configuration: .init(journalMode: .delete, foreignKeys: false))
    let schema = try db.schema()
    let count = schema.tables.count + schema.views.count
    try db.close()
    let models = try Program.tool.run(["models", name], in: directory)
    try #require(models.exitCode == 0, "\(models.errors)")
    let types = models.output.matches(of: /\nextension (\w+): Sqlable/).map { String($0.1) }
    #expect(types.count == count)
    let main = """
      import Sqlable

      func check(_ model: (some Sqlable).Type, _ db: SqliteDatabase, _ copy: SqliteDatabase) throws {
        print("checked", model.tableName)
        for difference in try Schema(model).differences(db) where !difference.isHarmless { print(difference) }
        let plan = try Schema(model).plan(db)
        if !plan.isEmpty { print(plan) }
        if try model.read().run(db).count \
        != db.query("SELECT count(*) FROM \\(table: model.tableName)", as: Int.self)[0] {
          print("lost", model.tableName)
        }
        try copy.createTable(model)
      }
      do {
        let db = try SqliteDatabase(filepath: CommandLine.arguments[1])
        let copy = try SqliteDatabase.inMemory()
      \(types.map { "  try check(\($0).self, db, copy)" }.joined(separator: "\n"))
        let schema = Schema([\(types.map { "\($0).self" }.joined(separator: ", "))])
        try schema.verify(db)
        if try !schema.plan(db).isEmpty { print("a plan for all") }
        // A database that the models create has the same schema.
        for difference in try schema.differences(copy) { print("copy", difference) }
      } catch { print("failed", error) }
      """
    let path = directory + "/" + name
    let output = try SwiftCompiler.run([("Models", models.output), ("main", main)], [path], in: directory)
    let lines = output.split(separator: "\n").map(String.init)
    #expect(lines.filter { !$0.hasPrefix("checked ") } == [])
    #expect(lines.count == count)
  }
}

/// Ten schemas modelled on real programs.
private enum ForeignSchemas {
  static let all = [
    places, history, cards, accounts, migrations, library, synchronized, recorder, messages, repository,
  ]

  /// A browser's bookmarks.
  private static let places = """
    CREATE TABLE moz_origins (id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL,
      frecency INTEGER NOT NULL, UNIQUE (prefix, host));
    CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
      visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL,
      last_visit_date INTEGER, guid TEXT, preview_image_url TEXT, origin_id INTEGER REFERENCES moz_origins(id));
    CREATE UNIQUE INDEX moz_places_guid_uniqueindex ON moz_places (guid);
    CREATE INDEX moz_places_frecencyindex ON moz_places (frecency);
    CREATE TABLE moz_inputhistory (place_id INTEGER NOT NULL, input LONGVARCHAR NOT NULL, use_count INTEGER,
      PRIMARY KEY (place_id, input));
    CREATE TABLE moz_keywords (id INTEGER PRIMARY KEY AUTOINCREMENT, keyword TEXT UNIQUE, place_id INTEGER);
    CREATE TABLE moz_meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    INSERT INTO moz_places (url, last_visit_date) VALUES ('https://a/', 1700000000000000);
    INSERT INTO moz_meta VALUES ('a', 1.5), ('b', 'c')
    """

  /// A browser's history.
  private static let history = """
    CREATE TABLE meta (key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
    CREATE TABLE urls (id INTEGER PRIMARY KEY AUTOINCREMENT, url LONGVARCHAR, title LONGVARCHAR,
      visit_count INTEGER DEFAULT 0 NOT NULL, hidden INTEGER DEFAULT 0 NOT NULL);
    CREATE INDEX urls_url_index ON urls (url);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER NOT NULL, visit_time INTEGER NOT NULL,
      publicly_routable BOOLEAN DEFAULT FALSE NOT NULL, visit_duration INTEGER DEFAULT 0 NOT NULL);
    CREATE INDEX visits_time_index ON visits (visit_time);
    CREATE TABLE cookies (creation_utc INTEGER NOT NULL, host_key TEXT NOT NULL, encrypted_value BLOB DEFAULT X'00',
      priority INTEGER NOT NULL DEFAULT 1);
    CREATE UNIQUE INDEX cookies_unique_index ON cookies (host_key, creation_utc);
    INSERT INTO meta VALUES ('version', '48')
    """

  /// Flash cards of a learning program.
  private static let cards = """
    CREATE TABLE notes (id integer primary key, guid text not null, mid integer not null, flds text not null,
      sfld integer not null, csum integer not null);
    CREATE TABLE revlog (id integer primary key, cid integer not null, ease integer not null, ivl integer not null);
    CREATE INDEX ix_notes_csum on notes (csum);
    CREATE TABLE tags (tag text NOT NULL PRIMARY KEY COLLATE NOCASE, usn integer NOT NULL, config blob NULL)
      without rowid;
    CREATE TABLE fields (ntid integer NOT NULL, ord integer NOT NULL, name text NOT NULL COLLATE NOCASE,
      PRIMARY KEY (ntid, ord)) without rowid;
    CREATE UNIQUE INDEX idx_fields_name_ntid ON fields (name, ntid);
    INSERT INTO notes VALUES (1700000000000, 'a', 1, 'x', 'text', 5)
    """

  /// The accounts of a web framework.
  private static let accounts = """
    CREATE TABLE "auth_user" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL,
      "last_login" datetime NULL, "is_superuser" bool NOT NULL, "username" varchar(150) NOT NULL UNIQUE,
      "date_joined" datetime NOT NULL, "balance" decimal NOT NULL, "uid" char(32) NOT NULL,
      "count" integer unsigned NOT NULL CHECK ("count" >= 0), "data" text NOT NULL CHECK ((JSON_VALID("data"))));
    CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
    CREATE TABLE "auth_user_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
      "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED,
      "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
    CREATE UNIQUE INDEX "auth_user_groups_uniq" ON "auth_user_groups" ("user_id", "group_id");
    CREATE INDEX "auth_user_groups_user_id" ON "auth_user_groups" ("user_id");
    INSERT INTO auth_user VALUES (1, 'p', NULL, 1, 'u', '2024-05-06 07:08:09.123456', 12.5, 'ab', 3, '{}');
    INSERT INTO auth_user VALUES (2, 'p', '2024-05-06 07:08:09', 0, 'v', '2024-05-06 07:08:09', 3, 'ab', 3, '[]')
    """

  /// The tables of another web framework.
  private static let migrations = """
    CREATE TABLE "schema_migrations" ("version" varchar NOT NULL PRIMARY KEY);
    CREATE TABLE "ar_internal_metadata" ("key" varchar NOT NULL PRIMARY KEY, "value" varchar,
      "created_at" datetime(6) NOT NULL, "updated_at" datetime(6) NOT NULL);
    CREATE TABLE "posts" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "title" varchar DEFAULT '' NOT NULL,
      "rating" float DEFAULT 0.0, "published" boolean DEFAULT 0 NOT NULL, "meta" json DEFAULT '{}',
      "on" date, "price" decimal(8,2) DEFAULT 0, "author_id" bigint, "views" bigint DEFAULT '0');
    CREATE TABLE "comments" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "post_id" integer NOT NULL,
      CONSTRAINT "fk_rails_1" FOREIGN KEY ("post_id") REFERENCES "posts" ("id") ON DELETE CASCADE);
    CREATE INDEX "index_comments_on_post_id" ON "comments" ("post_id");
    INSERT INTO posts (title, "on", price) VALUES ('x', '2024-05-06', 2.25)
    """

  /// A library of books.
  private static let library = """
    CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT 'Unknown' COLLATE NOCASE,
      sort TEXT COLLATE NOCASE, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, \
      pubdate TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
      series_index REAL NOT NULL DEFAULT 1.0, isbn TEXT DEFAULT "" COLLATE NOCASE, flags INTEGER NOT NULL DEFAULT 1,
      has_cover BOOL DEFAULT 0, last_modified TIMESTAMP NOT NULL DEFAULT "2000-01-01 00:00:00+00:00");
    CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, UNIQUE (name));
    CREATE TABLE books_authors_link (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, author INTEGER NOT NULL,
      UNIQUE (book, author));
    CREATE TABLE ratings (id INTEGER PRIMARY KEY, rating INTEGER CHECK (rating > -1 AND rating < 11), UNIQUE (rating));
    CREATE INDEX authors_idx ON books (sort COLLATE NOCASE);
    CREATE TRIGGER books_delete AFTER DELETE ON books BEGIN DELETE FROM books_authors_link WHERE book = OLD.id; END;
    INSERT INTO books (title) VALUES ('One'), ('Two')
    """

  /// The files of a synchronization program.
  private static let synchronized = """
    CREATE TABLE metadata (phash INTEGER(8), pathlen INTEGER, path VARCHAR(4096), inode INTEGER, mode INTEGER,
      modtime INTEGER(8), type INTEGER, md5 VARCHAR(32), filesize BIGINT, ignored INTEGER DEFAULT 0,
      PRIMARY KEY (phash));
    CREATE TABLE downloadinfo (path VARCHAR(4096), tmpfile VARCHAR(4096), errorcount INTEGER, PRIMARY KEY (path));
    CREATE TABLE blacklist (path VARCHAR(4096), lastTryTime INTEGER(8), renameTarget VARCHAR(4096), PRIMARY KEY (path));
    CREATE TABLE oc_mounts (id BIGINT PRIMARY KEY, storage_id BIGINT NOT NULL, user_id VARCHAR(64) NOT NULL
      COLLATE BINARY, mount_id BIGINT DEFAULT NULL, quota DOUBLE PRECISION, note CLOB DEFAULT NULL, enabled SMALLINT);
    CREATE INDEX metadata_inode ON metadata (inode);
    INSERT INTO metadata (phash, path) VALUES (-5, 'a'); INSERT INTO oc_mounts VALUES (7, 1, 'u', NULL, 0.5, 'x', 1)
    """

  /// The recorder of a smart home.
  private static let recorder = """
    CREATE TABLE event_data (data_id INTEGER NOT NULL, hash BIGINT, shared_data TEXT, PRIMARY KEY (data_id));
    CREATE TABLE states (state_id INTEGER NOT NULL, entity_id CHAR(0), state VARCHAR(255), last_updated DATETIME,
      last_updated_ts FLOAT, old_state_id INTEGER, data_id INTEGER, context_id_bin BLOB, origin_idx SMALLINT,
      PRIMARY KEY (state_id), FOREIGN KEY(old_state_id) REFERENCES states (state_id),
      FOREIGN KEY(data_id) REFERENCES event_data (data_id));
    CREATE INDEX ix_states_data_id ON states (data_id);
    CREATE TABLE statistics (id INTEGER NOT NULL, created DATETIME, mean FLOAT, "sum" FLOAT, PRIMARY KEY (id));
    INSERT INTO states (state, last_updated_ts, context_id_bin) VALUES ('on', 1700000000.25, x'0102')
    """

  /// A telephone's messages, with a full-text index.
  private static let messages = """
    CREATE TABLE android_metadata (locale TEXT);
    CREATE TABLE thread (_id INTEGER PRIMARY KEY AUTOINCREMENT, date INTEGER DEFAULT 0, snippet TEXT, read INTEGER
      DEFAULT 1, archived INTEGER DEFAULT (0));
    CREATE TABLE message (_id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id INTEGER NOT NULL REFERENCES thread ON DELETE
      CASCADE, body TEXT, uuid TEXT NOT NULL UNIQUE ON CONFLICT REPLACE, size LONG, ratio NUM);
    CREATE INDEX message_thread_index ON message (thread_id, _id DESC) ;
    CREATE INDEX message_unsent ON message (uuid) WHERE body IS NULL;
    CREATE VIRTUAL TABLE notes_fts USING fts5(title, content, tokenize = "unicode61");
    INSERT INTO thread (snippet) VALUES ('hi'); INSERT INTO message VALUES (1, 1, 'hi', 'u', 5, 7)
    """

  /// A repository of source code.
  private static let repository = """
    CREATE TABLE blob (rid INTEGER PRIMARY KEY, rcvid INTEGER, size INTEGER, uuid TEXT UNIQUE NOT NULL, content BLOB,
      CHECK (length(uuid) >= 40 AND rid > 0));
    CREATE TABLE delta (rid INTEGER PRIMARY KEY, srcid INTEGER NOT NULL REFERENCES blob);
    CREATE INDEX delta_i1 ON delta (srcid);
    CREATE TABLE config (name TEXT PRIMARY KEY NOT NULL, value CLOB, mtime DATE, CHECK (typeof(name) = 'text'))
      WITHOUT ROWID;
    CREATE TABLE event (type TEXT, mtime DATETIME, objid INTEGER PRIMARY KEY, uid INTEGER, bgcolor TEXT);
    CREATE TABLE tagxref (tagid INTEGER REFERENCES blob, tagtype INTEGER, mtime TIMESTAMP, rid INTEGER REFERENCES blob,
      UNIQUE (rid, tagid));
    CREATE TABLE strict_one (id INT PRIMARY KEY, any ANY, t TEXT NOT NULL) STRICT;
    INSERT INTO event VALUES ('ci', 2460000.5, 1, 0, NULL); INSERT INTO config VALUES ('a', 'b', 1700000000)
    """
}
