// RUN: hh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{count must be at least 1, got: 0}}
hh.device_type @d kind "cpu" count 0 memory 1000

// -----

// expected-error @+1 {{memory must be at least 1 byte, got: -1}}
hh.device_type @d kind "cpu" count 1 memory -1

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
// expected-error @+1 {{bandwidth must be above 0, got: 0}}
hh.link @d to @d bandwidth 0.0 latency 1.0e-6

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
// expected-error @+1 {{ends must be device types, got: @e}}
hh.link @d to @e bandwidth 1.0 latency 1.0e-6

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
// expected-error @+1 {{routes must have a bandwidth above 0 and a latency that is not negative, got: {bandwidth = 0.000000e+00 : f64, latency = 1.000000e+00 : f64}}}
hh.link @d to @d bandwidth 1.0 latency 1.0e-6 {routes = [{bandwidth = 0.0, latency = 1.0}]}

// -----

// expected-error @+1 {{source must be an offset and a length, or a tensor}}
hh.parameter @w : tensor<4xf32> from "m.bin"

// -----

func.func @main() {
  // expected-error @+1 {{no parameter of this name: @w}}
  %w = hh.get_parameter @w : tensor<4xf32>
  return
}

// -----

hh.parameter @w : tensor<4xf32> from "m.bin" offset 0 length 16
func.func @main() {
  // expected-error @+1 {{type must be that of the parameter, 'tensor<4xf32>', got: 'tensor<5xf32>'}}
  %w = hh.get_parameter @w : tensor<5xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{no device type of this name: @d}}
  hh.stage 0 on @d () : () -> () {
  }
  return
}

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{replicas must be at least 1, got: 0}}
  hh.stage 0 on @d replicas 0 () : () -> () {
  }
  return
}

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{types of yielded values must be those of the results}}
  %0 = hh.stage 0 on @d (%a = %x) : (tensor<4xf32>) -> tensor<5xf32> {
    hh.yield %a : tensor<4xf32>
  }
  return
}

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
hh.program @p() attributes {stage = 0 : i64, device = @d} {
  // expected-error @+1 {{peer must be another stage, got: 0}}
  %0 = hh.recv on 0 from 0 : tensor<4xf32>
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 1 memory 1000
hh.program @p() attributes {stage = 1 : i64, device = @d} {
  %0 = hh.recv on 3 from 0 : tensor<4xf32>
  // expected-error @+1 {{channel must be used once in a program, got: 3}}
  hh.send %0 on 3 to 2 : tensor<4xf32>
  hh.return
}

// -----

// expected-error @+1 {{microbatches must be at least 1, got: 0}}
hh.schedule microbatches 0 {}

// -----

hh.schedule {
  stage 0 replica 0 {
    // expected-error @+1 {{no action of this name: jump}}
    jump 0
  }
}

// -----

// expected-error @+1 {{must have two hashes for each name}}
"hh.fingerprint"() <{names = ["a"], own = array<i64: 1, 2>, hashes = array<i64: 1>, outputs = array<i64>}> : () -> ()
