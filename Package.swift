// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Sqlable",
  products: [
    .library(name: "Sqlable", targets: ["Sqlable"]),
    .executable(name: "Flights", targets: ["Flights"]),
    .executable(name: "sqlable", targets: ["SqlableTool"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSqlableSQLite",
      pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"])]
    ),
    .target(name: "Sqlable", dependencies: ["CSqlableSQLite"]),
    .executableTarget(
      name: "Flights",
      dependencies: ["Sqlable"],
      resources: [.copy("Data")]
    ),
    .executableTarget(name: "SqlableTool", dependencies: ["Sqlable"]),
    .testTarget(
      name: "SqlableTests", dependencies: ["Sqlable", "Flights", "SqlableTool"], exclude: ["Coding/Golden"]),
  ],
  swiftLanguageModes: [.v6]
)
