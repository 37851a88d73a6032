// Long filters, for the compiler alone: `.ci/run` looks how long each takes to type-check, and that each line that says
// so is refused, with these words.

import Foundation
import Sqlable

// swift-format-ignore
func longFilters() {
  _ = Car.read().filter(Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2.5 || Car.id < 7 && Car.name.like("%x%") && Car.isElectric == true && Car.price * 2 > 3.0 && Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2 || Car.id == nil && Car.name == Car.name && Car.name == "u" && Car.price + Car.price >= 3.0)
  _ = Bicycle.read().filter(Bicycle.id == 3 && Bicycle.name == "x" && Bicycle.name != "red" && Bicycle.price > 2.5 || Bicycle.id < 7 && Bicycle.name.like("%x%") && Bicycle.isOld == true && Bicycle.price * 2 > 3.0 && Bicycle.id == 3 && Bicycle.name == "x" && Bicycle.name != "red" && Bicycle.price > 2 || Bicycle.id == nil && Bicycle.name == Bicycle.name && Bicycle.name == "u" && Bicycle.price + Bicycle.price >= 3.0)
  _ = Bicycle.read().filter(Bicycle.id == 3 && Bicycle.name == "x" && !Bicycle.name && Car.price > 2.5 || Bicycle.id < 7 && Bicycle.name.like("%x%") && Car.isElectric == true && Bicycle.price * 2 > 3.0 && Car.id ∈ [3, 4] && Bicycle.name == "x" && Bicycle.name != "red" && Bicycle.price > 2 || !(Bicycle.id == nil) && Bicycle.name == Bicycle.name && Bicycle.name.lowercase() == "u" && Bicycle.price - 1 >= 3.0)
}

// swift-format-ignore
func longRefused() {
  _ = Car.read().filter(Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2.5 || Car.id < 7 && Car.name.like("%x%") && Car.isElectric == "yes" && Car.price * 2 > 3.0 && Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2 || Car.id == nil && Car.name == Car.name && Car.name == "u" && Car.price + Car.price >= 3.0) // refused: a different type
  _ = Car.read().filter(Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2.5 || Car.id < 7 && Car.name.like("%x%") && Car.isElectric == true && Car.price * "2" > 3.0 && Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2 || Car.id == nil && Car.name == Car.name && Car.name == "u" && Car.price + Car.price >= 3.0) // refused: a different type
  _ = Car.read().filter(Car.id == "x" && Car.name == "x" && Car.name != "red" && Car.price > 2.5 || Car.id < 7 && Car.name.like("%x%") && Car.isElectric == true && Car.price * 2 > 3.0 && Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2 || Car.id == nil && Car.name == Car.name && Car.name == "u" && Car.price + Car.price >= 3.0) // refused: a different type
  _ = Car.read().filter(Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2.5 || Car.id < 7 && Car.name.like("%x%") && Car.isElectric == true && Car.price * 2 > 3.0 && Car.id == 3 && Car.name == "x" && Car.name != "red" && Car.price > 2 || Car.id == nil && Car.nam == Car.name && Car.name == "u" && Car.price + Car.price >= 3.0) // refused: has no member 'nam'
  _ = Bicycle.read().filter(Bicycle.id == 3 && Bicycle.name == "x" && Bicycle.name != "red" && Bicycle.price > 2.5 || Bicycle.id < NoValue() && Bicycle.name.like("%x%") && Bicycle.isOld == true && Bicycle.price * 2 > 3.0 && Bicycle.id == 3 && Bicycle.name == "x" && Bicycle.name != "red" && Bicycle.price > 2 || Bicycle.id == nil && Bicycle.name == Bicycle.name && Bicycle.name == "u" && Bicycle.price + Bicycle.price >= 3.0) // refused: 'NoValue'
}
