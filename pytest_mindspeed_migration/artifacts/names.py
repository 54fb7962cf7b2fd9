"""The files that artifacts are written to."""

DOCUMENTS = (
    "compatibility_matrix.yaml",
    "contract_matrix.yaml",
    "changeset_manifest.yaml",
    "risk_register.yaml",
    "preflight_risk_register.yaml",
    "next_actions.yaml",
)
REPORTS = (
    "model_contract_checklist.md",
    "signature_compat_report.md",
    "dataset_schema_report.md",
    "fields_contract_report.md",
    "config_mapping_table.md",
    "linkage_check_report.md",
    "architecture_chain.md",
    "similar_case_selection.md",
    "migration_report.md",
)
ARTIFACTS = (*DOCUMENTS, *REPORTS)
