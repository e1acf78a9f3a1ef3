// RUN: hh-opt %s -split-input-file -verify-diagnostics

func.func @arguments(%n: tensor<i64>, %c: tensor<i1>) {
  // expected-error@+1 {{'hh.loop' op body must have 2 arguments, got: 1}}
  hh.loop %n while %c carries () : tensor<i64>, tensor<i1>, () -> () {
  ^bb0(%i: tensor<i64>):
    hh.yield %c : tensor<i1>
  }
  return
}

// -----

func.func @yielded(%n: tensor<i64>, %c: tensor<i1>) {
  // expected-error@+1 {{'hh.loop' op body must yield a condition and 0 values, got: 2}}
  hh.loop %n while %c carries () : tensor<i64>, tensor<i1>, () -> () {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    hh.yield %go, %i : tensor<i1>, tensor<i64>
  }
  return
}

// -----

func.func @types(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{'hh.loop' op carried value 0 must keep its type 'tensor<2xf32>'}}
  %0 = hh.loop %n while %c carries (%x) : tensor<i64>, tensor<i1>, (tensor<2xf32>) -> tensor<?xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %y: tensor<2xf32>):
    hh.yield %go, %y : tensor<i1>, tensor<2xf32>
  }
  return
}

// -----

func.func @stacked(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{'hh.loop' op result 0 must be a tensor with one axis more than what an iteration yields}}
  %0 = hh.loop %n while %c carries () : tensor<i64>, tensor<i1>, () -> tensor<2xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    hh.yield %go, %x : tensor<i1>, tensor<2xf32>
  }
  return
}
