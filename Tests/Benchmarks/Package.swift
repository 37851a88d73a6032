// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that nothing it needs ever reaches a user of the library.
let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "Sqlable", path: "../..")],
  targets: [
    .systemLibrary(name: "CSQLite3", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "CBaseline", dependencies: ["CSQLite3"]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["CBaseline", "CSQLite3", .product(name: "Sqlable", package: "Sqlable")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
