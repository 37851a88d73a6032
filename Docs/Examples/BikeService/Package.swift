// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that a web server never reaches a user of the library.
let package = Package(
  name: "BikeService",
  traits: [.trait(name: "Cluster", description: "BikeServer --cluster, whose nodes need libdqlite.")],
  dependencies: [
    // In a service of your own: the address of the repository instead of the path.
    .package(
      name: "Sqlable", path: "../../..",
      traits: [
        "Logging", "Metrics", "Lifecycle", .trait(name: "ClusterNode", condition: .when(traits: ["Cluster"])),
      ]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    // The tests' client: HummingbirdTesting's own waits for the end of a response, which an event stream does not have.
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  ],
  targets: [
    .target(
      name: "BikeService",
      dependencies: [
        "Sqlable", .product(name: "SqlablePolicies", package: "Sqlable"),
        .product(name: "SqlableChanges", package: "Sqlable"), .product(name: "SqlableTenants", package: "Sqlable"),
        .product(name: "SqlableCluster", package: "Sqlable"), .product(name: "SqlableIntegrations", package: "Sqlable"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
      ]
    ),
    .executableTarget(
      name: "BikeServer",
      dependencies: [
        "BikeService",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
    .testTarget(
      name: "BikeServiceTests",
      dependencies: [
        "BikeService",
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
