// swift-tools-version: 6.1
import PackageDescription

// A package of its own: it and the library are compiled with the instrumentation of libFuzzer. `run` does that.
let package = Package(
  name: "Fuzzing",
  dependencies: [.package(name: "Sqlable", path: "../..")],
  targets: [
    .target(name: "CFuzzer"),
    .executableTarget(
      name: "Fuzzing",
      dependencies: [
        "CFuzzer", .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlablePolicies", package: "Sqlable"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
