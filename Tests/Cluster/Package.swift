// swift-tools-version: 6.1
import PackageDescription

// The tests of clusters of dqlite nodes, which need swift-nio and libdqlite: a package of its own, so that `swift test`
// of the library resolves neither.
let package = Package(
  name: "Cluster",
  dependencies: [.package(name: "Sqlable", path: "../..", traits: ["ClusterNode"])],
  targets: [
    .executableTarget(
      name: "ClusterNodeProcess", dependencies: [.product(name: "Sqlable", package: "Sqlable")]),
    .executableTarget(
      name: "ClusterFigures", dependencies: ["ClusterNodeProcess", .product(name: "Sqlable", package: "Sqlable")]),
    .testTarget(
      name: "ClusterTests",
      dependencies: [
        "ClusterNodeProcess", .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "sqlable", package: "Sqlable"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
