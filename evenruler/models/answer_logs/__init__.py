"""Recorded answers from files as a model, which has these answers and no others.

Supported files, a module each:

| what | files | answers found by |
| --- | --- | --- |
| StereoSet's published predictions (`published`) | one JSON | sentence ids |
| BBQ's published predictions (`published`) | JSON lines, one file or a folder; `FILE#COLUMN` if
there are several | keys |
| lm-evaluation-harness `--log_samples`, multiple choice (`harness`) | JSON lines, one file | exact
prompt and text |
| the same for generation tasks, of questions with options | JSON lines, one file | question and
options |
| inspect_ai, multiple choice (`inspect_ai`) | `.eval` or `.json` | question and options |
| results of a batch of OpenAI's or Anthropic's API (`batch`) | JSON lines, and the file of its
requests | question and options of the request |
| a table of scores or of chosen options (`table`) | `.csv` or `.parquet` | keys, or both texts |
| `evenruler answers export` (`exported`) | a folder with `answers.parquet` and `model.json` | the
whole question |
"""
