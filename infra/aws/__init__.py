"""The CDK stacks that deploy what the manifest names."""
