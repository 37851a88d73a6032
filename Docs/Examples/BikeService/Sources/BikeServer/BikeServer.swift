import ArgumentParser
import BikeService

@main
struct BikeServer: AsyncParsableCommand {
  @Option(help: "The database, made when it is missing.")
  var database = "bikes.sqlite"

  @Option(help: "Where to listen. Nobody but this machine is served by default.")
  var hostname = "127.0.0.1"

  @Option(help: "Which port to listen on.")
  var port = 8080

  func run() async throws {
    try await BikeService(filepath: database).run(hostname: hostname, port: port)
  }
}
