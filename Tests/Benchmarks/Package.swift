// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that nothing it needs ever reaches a user of the library.
//
// The trait GRDB, on by default, adds GRDB 7.10 to the contenders. `--disable-default-traits` leaves it out: then
// nothing is resolved or fetched, for a machine without a network, and the build takes seconds instead of a minute, as
// `.ci/run` likes it.
let package = Package(
  name: "Benchmarks",
  traits: [
    .default(enabledTraits: ["GRDB"]),
    .trait(name: "GRDB", description: "Measures GRDB beside the others."),
    .trait(name: "SQLCipher", description: "Builds the library with its trait of that name, for EncryptionCost."),
  ],
  dependencies: [
    .package(
      name: "Sqlable", path: "../..",
      traits: [.trait(name: "SQLCipher", condition: .when(traits: ["SQLCipher"]))]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .systemLibrary(name: "CSQLite3", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CMalloc"),
    .target(name: "CBaseline", dependencies: ["CSQLite3"]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CBaseline", "CSQLite3", .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "SqlablePolicies", package: "Sqlable"),
        .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["GRDB"])),
      ]
    ),
    .executableTarget(
      name: "Soak", dependencies: ["CMalloc", "CSQLite3", .product(name: "Sqlable", package: "Sqlable")]),
    .executableTarget(name: "LogSoak", dependencies: [.product(name: "Sqlable", package: "Sqlable")]),
    .executableTarget(
      name: "SalvageShare",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableRecovery", package: "Sqlable"),
      ]),
    .executableTarget(
      name: "ArchiveRate",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableRecovery", package: "Sqlable"),
      ]),
    .executableTarget(
      name: "ChangeLogCost",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableChanges", package: "Sqlable"),
      ]),
    .executableTarget(
      name: "TenantCost",
      dependencies: [
        "CMalloc", .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableBackup", package: "Sqlable"),
        .product(name: "SqlableTenants", package: "Sqlable"),
      ]),
    .executableTarget(
      name: "EncryptionCost",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableBackup", package: "Sqlable"),
      ]),
    .executableTarget(
      name: "Growth",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlablePolicies", package: "Sqlable"),
      ]),
    .executableTarget(name: "SchemaScale", dependencies: [.product(name: "Sqlable", package: "Sqlable")]),
  ],
  swiftLanguageModes: [.v6]
)
