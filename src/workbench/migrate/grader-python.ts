/** A reward-function file: the grader's source as it stands, and below it what hands a row to its `grade`. */
export const pythonFile = (source: string): string => `${source.replace(/\s*$/, '')}


def compute_score(data_source, solution_str, ground_truth, extra_info):
    """Hands a row to the grader above in the form that OpenAI gives its graders."""
    import json

    text = solution_str.rsplit("</think>", 1)[-1].strip()
    try:
        output_json = json.loads(text)
    except ValueError:
        output_json = None
    sample = {
        "output_text": text,
        "output_json": output_json,
        "output_tools": [],
        "choices": [{"message": {"role": "assistant", "content": text}}],
    }
    item = {"ground_truth": ground_truth, **(extra_info or {})}
    return float(grade(sample, item))
`
