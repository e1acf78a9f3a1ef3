// RUN: hh-opt %s --hh-lower-to-aten | FileCheck %s

// One node over two leaves: leaf i is child -1 - i.
func.func @regressor(%x: tensor<5x2xf32>) -> tensor<5x1xf32> {
  %y = onnx.ml.TreeEnsembleRegressor(%x) {
    n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>,
    nodes_featureids = array<i64: 1, 0, 0>, nodes_modes = ["BRANCH_LT", "LEAF", "LEAF"],
    nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_truenodeids = array<i64: 1, 0, 0>,
    nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0, 0>, target_nodeids = array<i64: 1, 2>,
    target_ids = array<i64: 0, 0>, target_weights = array<f32: 1.0, 2.0>} : (tensor<5x2xf32>) -> (tensor<5x1xf32>)
  return %y : tensor<5x1xf32>
}
// CHECK-LABEL: @regressor(
// CHECK-DAG: hh.constant dense<-1> : tensor<1xi64>
// CHECK-DAG: hh.constant dense<-2> : tensor<1xi64>
// CHECK-DAG: hh.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: aten.hethub.tree_ensemble({{.*}}) {aggregate = "SUM", targets = 1 : i64}
