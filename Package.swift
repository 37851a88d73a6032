// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

let syntaxProducts = [
  "SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros",
]

// The trait Macros, off by default, adds the macros, which need swift-syntax. While it is off, nothing of that is
// resolved or built, and the macro target is an empty program. The other traits, off by default too, each need one
// package for logs, metrics, spans, services, sealed values or sockets, or a system library.

// The suite runs on encrypted files, too: then every configuration has the key that the tests name here. No other build
// looks for one.
let keyOfTests: [SwiftSetting] = Context.environment["SQLABLE_KEY"] == nil ? [] : [.define("KEY_OF_TESTS")]

let package = Package(
  name: "Sqlable",
  products: [
    .library(name: "Sqlable", targets: ["Sqlable"]),
    .library(name: "SqlableCore", targets: ["SqlableCore"]),
    .library(name: "SqlablePolicies", targets: ["SqlablePolicies"]),
    .library(name: "SqlableAdvice", targets: ["SqlableAdvice"]),
    .library(name: "SqlableBackup", targets: ["SqlableBackup"]),
    .library(name: "SqlableChanges", targets: ["SqlableChanges"]),
    .library(name: "SqlableTenants", targets: ["SqlableTenants"]),
    .library(name: "SqlableRecovery", targets: ["SqlableRecovery"]),
    .library(name: "SqlableSealing", targets: ["SqlableSealing"]),
    .library(name: "SqlableCluster", targets: ["SqlableCluster"]),
    .library(name: "SqlableIntegrations", targets: ["SqlableIntegrations"]),
  ],
  traits: [
    .trait(name: "Macros", description: "The macros @Sqlable and @SqlEmbedded, which write a model's conformance."),
    .trait(name: "Logging", description: "Slow statements and errors to a Logger of swift-log."),
    .trait(name: "Metrics", description: "Durations, waits and the state of pools to swift-metrics."),
    .trait(name: "Tracing", description: "A span of swift-distributed-tracing for each statement and transaction."),
    .trait(name: "Lifecycle", description: "Pools are services of swift-service-lifecycle."),
    .trait(name: "Crypto", description: "Sealed values, which a column has encrypted, by swift-crypto."),
    .trait(name: "SQLCipher", description: "Encrypted files, by libsqlcipher 4.5 or later in place of libsqlite3."),
    .trait(name: "Cluster", description: "Statements on a cluster of dqlite nodes, by swift-nio."),
    .trait(
      name: "ClusterNode", description: "A node of such a cluster in the program itself, by libdqlite.",
      enabledTraits: ["Cluster"]),
  ],
  dependencies: [
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    .systemLibrary(name: "CSqlableSystemSQLite", providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
    .systemLibrary(
      name: "CSqlableSQLCipher", pkgConfig: "sqlcipher",
      providers: [.apt(["libsqlcipher-dev"]), .yum(["sqlcipher-devel"])]),
    .systemLibrary(name: "CSqlableDqlite", pkgConfig: "dqlite", providers: [.apt(["libdqlite-dev"])]),
    .target(
      name: "CSqlableSQLite",
      dependencies: [
        "CSqlableSystemSQLite",
        .target(name: "CSqlableSQLCipher", condition: .when(traits: ["SQLCipher"])),
      ]
    ),
    .macro(
      name: "SqlableMacros",
      dependencies: syntaxProducts.map {
        .product(name: $0, package: "swift-syntax", condition: .when(traits: ["Macros"]))
      }
    ),
    // From the bottom up. A module uses only those above it in this list that it names.
    .target(name: "SqlableCore", dependencies: ["CSqlableSQLite"], swiftSettings: keyOfTests),
    .target(name: "SqlableTracing", dependencies: ["SqlableCore"]),
    .target(name: "SqlableCodable", dependencies: ["SqlableCore"]),
    .target(name: "SqlableQueries", dependencies: ["SqlableCore"]),
    .target(name: "SqlableSchema", dependencies: ["SqlableCore"]),
    .target(name: "SqlableDocuments", dependencies: ["SqlableCore", "SqlableQueries", "SqlableSchema"]),
    .target(name: "SqlablePolicies", dependencies: ["SqlableCore", "SqlableQueries", "SqlableDocuments"]),
    .target(
      name: "SqlableAdvice", dependencies: ["SqlableCore", "SqlableTracing", "SqlableQueries", "SqlableSchema"]),
    .target(
      name: "SqlablePool",
      dependencies: ["SqlableCore", "SqlableTracing", "SqlableCodable", "SqlableQueries", "SqlableSchema"]),
    .target(name: "SqlableBackup", dependencies: ["SqlableCore", "SqlableSchema", "SqlablePool"]),
    .target(name: "SqlableChanges", dependencies: ["SqlableCore", "SqlableSchema", "SqlablePool"]),
    .target(
      name: "Sqlable",
      dependencies: [
        "SqlableCore", "SqlableTracing", "SqlableCodable", "SqlableQueries", "SqlableSchema", "SqlableDocuments",
        "SqlablePool",
        .target(name: "SqlableMacros", condition: .when(traits: ["Macros"])),
      ]
    ),
    .target(
      name: "SqlableTenants",
      dependencies: ["SqlableCore", "SqlableTracing", "SqlableSchema", "SqlablePool", "SqlableBackup"]),
    .target(name: "SqlableRecovery", dependencies: ["SqlableCore", "SqlableSchema", "SqlablePool", "SqlableBackup"]),
    .target(
      name: "SqlableSealing",
      dependencies: [
        "Sqlable", .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Crypto"])),
      ]
    ),
    .target(
      name: "SqlableCluster",
      dependencies: [
        "Sqlable", "SqlableBackup", "SqlableChanges",
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Cluster"])),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Cluster"])),
        .target(name: "CSqlableDqlite", condition: .when(traits: ["ClusterNode"])),
      ]
    ),
    .target(
      name: "SqlableIntegrations",
      dependencies: [
        "Sqlable", "SqlableTenants", "SqlableCluster",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Lifecycle"])),
      ]
    ),
    // The tests of each module from the bottom up, and helpers that several of them use. Most tests create tables, so
    // those of SqlableCore use SqlableSchema too.
    .testTarget(
      name: "SqlableTestSupport",
      dependencies: ["SqlableCore", "SqlableTracing", "SqlableCodable", "SqlableQueries", "SqlableSchema"]),
    .testTarget(name: "SqlableCoreTests", dependencies: ["SqlableTestSupport"]),
    .testTarget(name: "SqlableTracingTests", dependencies: ["SqlableTestSupport"]),
    .testTarget(name: "SqlableSchemaTests", dependencies: ["SqlableTestSupport"]),
    .testTarget(name: "SqlableDocumentsTestSupport", dependencies: ["SqlableTestSupport", "SqlableDocuments"]),
    .testTarget(
      name: "SqlableDocumentsTests", dependencies: ["SqlableDocumentsTestSupport"], exclude: ["Coding/Golden"]),
    .testTarget(name: "SqlablePoliciesTestSupport", dependencies: ["SqlableTestSupport", "SqlablePolicies"]),
    .testTarget(name: "SqlablePoliciesTests", dependencies: ["SqlablePoliciesTestSupport"]),
    .testTarget(name: "SqlableAdviceTests", dependencies: ["SqlableTestSupport", "SqlableAdvice"]),
    .testTarget(name: "SqlablePoolTestSupport", dependencies: ["SqlableTestSupport", "SqlablePool"]),
    .testTarget(name: "SqlablePoolTests", dependencies: ["SqlablePoolTestSupport"]),
    .testTarget(name: "SqlableBackupTests", dependencies: ["SqlablePoolTestSupport", "SqlableBackup"]),
    .testTarget(
      name: "SqlableChangesTests", dependencies: ["SqlablePoolTestSupport", "SqlableChanges", "SqlableBackup"]),
    .testTarget(
      name: "SqlableTenantsTests", dependencies: ["SqlablePoolTestSupport", "SqlableTenants", "SqlableBackup"]),
    .testTarget(name: "SqlableRecoveryTests", dependencies: ["SqlablePoolTestSupport", "SqlableRecovery"]),
    .testTarget(
      name: "SqlableTests",
      dependencies: [
        "SqlableDocumentsTestSupport", "SqlablePoliciesTestSupport", "SqlablePoolTestSupport", "Sqlable",
        "SqlablePolicies", "SqlableAdvice", "SqlableBackup", "SqlableRecovery", "SqlableCluster",
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
