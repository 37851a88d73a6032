// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Sqlable",
  products: [
    .library(name: "Sqlable", targets: ["Sqlable"]),
    .executable(name: "Flights", targets: ["Flights"]),
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
    .testTarget(name: "SqlableTests", dependencies: ["Sqlable", "Flights"], exclude: ["Coding/Golden"]),
  ],
  swiftLanguageModes: [.v6]
)
