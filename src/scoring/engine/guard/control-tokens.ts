// Written by `node dist/test/control-tokens.js FOLDER...` from published chat templates; do not edit.

/** The projects whose templates were read. */
export const sources: readonly string[] = `
InternLM/lmdeploy InternLM/xtuner abetlen/llama-cpp-python axolotl-ai-cloud/axolotl
chujiezheng/chat_templates google/minja hiyouga/LLaMA-Factory huggingface/huggingface.js
ikawrakow/ik_llama.cpp lm-sys/FastChat meta-llama/llama-models mistralai/mistral-common
modelscope/ms-swift ollama/ollama oobabooga/text-generation-webui openai/harmony unslothai/unsloth
`
  .trim()
  .split(/\s+/)

/** Names of control tokens in angle brackets, such as `</think>`; `#` matches any number. */
export const taggedNames: readonly string[] = `
AI AVAILABLE_TOOLS BOS BOS_TOKEN B_SYS CLS_TOKEN C_A C_Q EOI EOS_TOKEN EOT FILL FIM_MIDDLE
FIM_PREFIX FIM_SUFFIX IMAGE_TOKEN IMG_CONTEXT MASK_TOKEN MID PAD PAD_TOKEN PRE REKA_IMG_TOKEN REPO
SPECIAL_# SUF SYS TOKENS_UNUSED_# TOOLCALL TOOL_RESPONSE UNK_TOKEN _bot _end _end_think _observation
_pad _start _system _user arg_key arg_key:opensource arg_value arg_value:opensource assistant
atem:function_calls audio audio_end audio_patch audio_soft_token audio_start begin_of_document
beginning_of_sentence bos bot cls code_interpreter commit_after commit_before commit_msg
empty_output end_function_call end_function_declaration end_function_response end_message
end_of_conversation end_of_risk_definition end_of_sentence end_of_text end_of_turn end_of_utterance
eoa eoc eod eoh eom eop eor eos eoss extra_# extra_id_# file_sep fim-middle fim-pad fim-prefix
fim-repo fim-suffix fim_middle fim_pad fim_prefix fim_suffix frame_end frame_start function_call
function_calls function_result function_results functioncall gh_stars human im_end im_patch im_start
image image_id image_placeholder image_soft_token img imgpad issue_closed issue_comment issue_start
jupyter_code jupyter_output jupyter_script jupyter_start jupyter_text longcat_arg_key
longcat_arg_value longcat_assistant longcat_pad longcat_s longcat_system longcat_think
longcat_tool_call longcat_tool_declare longcat_unk longcat_user mask minimax:tool_call mm:think pad
racm#:break repo_name reponame reserved# reserved_# role s seed:bos seed:cot_budget_reflect seed:eos
seed:pad seed:think seed:tool_call sep so_embedding sop start-image start_assistant
start_function_call start_function_declaration start_function_response start_of_audio
start_of_conversation start_of_image start_of_risk_definition start_of_turn start_system start_user
system think think:opensource thinking thought tool_call tool_call:opensource tool_calling
tool_calls tool_calls:opensource tool_output tool_response tool_response:opensource tool_responses
tool_responses:opensource tool_result tool_sep tool_sep:opensource toolcall unk unused# user video
`
  .trim()
  .split(/\s+/)

/** Names of control tokens in square brackets, such as `[/INST]`; `#` matches any number. */
export const bracketedNames: readonly string[] = `
ARGS ATTR AUDIO AVAILABLE_TOOLS BEGIN_AUDIO BOS CALL_ID CLS EOS EOT IMG IMG_BREAK IMG_END INST MASK
MIDDLE MODEL_SETTINGS NL PAD PREFIX SEP STREAMING_PAD STREAMING_WORD SUFFIX SYS SYSTEM_PROMPT THINK
TOOL_CALLS TOOL_CONTENT TOOL_RESULTS TRANSCRIBE UNK UNUSED_TOKEN_# control_# gMASK sMASK
`
  .trim()
  .split(/\s+/)
