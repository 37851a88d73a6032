// swift-tools-version: 6.1
import PackageDescription

// The program Flights: a package of its own, so that a user of the library compiles nothing of it.
let package = Package(
  name: "Flights",
  dependencies: [
    // In a program of your own: the address of the repository instead of the path.
    .package(name: "Sqlable", path: "../../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .executableTarget(
      name: "Flights",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      resources: [.copy("Data")]
    ),
    .testTarget(
      name: "FlightsTests",
      dependencies: [
        "Flights", .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
