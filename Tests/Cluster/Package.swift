// swift-tools-version: 6.1
import PackageDescription

// The tests of clusters of dqlite nodes, which need swift-nio and libdqlite: a package of its own, so that `swift test`
// of the library resolves neither. Clients and nodes report to logs, metrics and spans, too, and are services.
let package = Package(
  name: "Cluster",
  dependencies: [
    .package(
      name: "Sqlable", path: "../..", traits: ["ClusterNode", "Logging", "Metrics", "Tracing", "Lifecycle"]),
    .package(name: "SqlableTool", path: "../../Sources/SqlableTool", traits: ["ClusterNode"]),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "ClusterNodeProcess",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableChanges", package: "Sqlable"),
        .product(name: "SqlableCluster", package: "Sqlable"),
      ]),
    .executableTarget(
      name: "ClusterFigures",
      dependencies: [
        "ClusterNodeProcess", .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "SqlableCluster", package: "Sqlable"),
      ]),
    .testTarget(
      name: "ClusterTests",
      dependencies: [
        "ClusterNodeProcess", .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "SqlableAdvice", package: "Sqlable"), .product(name: "SqlableBackup", package: "Sqlable"),
        .product(name: "SqlableChanges", package: "Sqlable"),
        .product(name: "SqlableCluster", package: "Sqlable"), .product(name: "SqlableIntegrations", package: "Sqlable"),
        .product(name: "sqlable", package: "SqlableTool"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
