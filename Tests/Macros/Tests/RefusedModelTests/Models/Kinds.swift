import Sqlable

@Sqlable enum Rig: String { case sloop }  // refused: @Sqlable needs a struct or a final class, not an enum

@Sqlable actor Crew {  // refused: not an actor
  let id = 5
}

@Sqlable protocol Vessel {  // refused: not a protocol
  var id: Int { get }
}

@Sqlable struct Box<Value> {  // refused: @Sqlable can't write the columns of a generic type
  var id: Int
}

@Sqlable @Sqlable struct Two {  // refused: the type has @Sqlable twice
  var id: Int
}

@SqlEmbedded final class Spot {  // refused: @SqlEmbedded needs a struct, not a class
  let id = 5
}

struct Plain {
  @Unique var id: Int  // refused: @Unique has no effect here
}

@Sqlable struct Method {
  var id: Int
  @Index func next() {}  // refused: @Index needs a property
}

enum Harbour {
  @Sqlable private struct Berth {  // refused: the macro's extension can't access the private type Berth
    var id: Int
  }

  @Sqlable struct Buoy {}  // refused: Buoy has no stored properties

  @Sqlable struct Crane {
    var id: Int
    var a: (Int, Int)  // refused: a column can't store a tuple
  }

  @Sqlable package final class Quay {
    package let id: Int
    @Default package let a: Int  // refused: @Default needs a value
  }

  static func use() { _ = (Crane.read().filter(Crane.id == 1), Quay.read().filter(Quay.id == 1)) }
}
