"""Result files: what benchmarks say of models, written, read, compared, shown and exported. No model is asked here."""
