// swift-tools-version: 6.1
import PackageDescription

// The tests of the traits that connect the library to others: a package of its own, so that `swift test` of the library
// resolves none of them.
let package = Package(
  name: "Integrations",
  dependencies: [
    .package(name: "Sqlable", path: "../..", traits: ["Logging", "Metrics", "Tracing", "Lifecycle", "Crypto"]),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "SqlablePolicies", package: "Sqlable"),
        .product(name: "SqlableTenants", package: "Sqlable"),
        .product(name: "SqlableIntegrations", package: "Sqlable"),
        .product(name: "SqlableSealing", package: "Sqlable"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]
    )
  ],
  swiftLanguageModes: [.v6]
)
