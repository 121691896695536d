"""Files made from the registry: TypeScript types, Python methods, documents. Not installed."""
