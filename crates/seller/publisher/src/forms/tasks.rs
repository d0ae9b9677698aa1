//! Submitted tasks: `get_task_status`, `list_tasks`.

use jiff::Timestamp;
use tradepost_document::typed_struct;

use super::{Direction, Pagination};

typed_struct! {
    /// `protocol/get-task-status-request.json`.
    pub(crate) struct GetTaskStatus {
        task_id: String,
        include_history: bool,
        include_result: bool,
    }

    /// `protocol/list-tasks-request.json`.
    pub(crate) struct ListTasksForm {
        filters: Option<TaskFilters>,
        sort: Option<TaskSort>,
        pagination: Option<Pagination>,
    }

    /// Filters of a task list.
    pub(crate) struct TaskFilters {
        protocol: Option<String>,
        protocols: Option<Vec<String>>,
        status: Option<String>,
        statuses: Option<Vec<String>>,
        task_type: Option<String>,
        task_types: Option<Vec<String>>,
        created_after: Option<Timestamp>,
        created_before: Option<Timestamp>,
        updated_after: Option<Timestamp>,
        updated_before: Option<Timestamp>,
        task_ids: Option<Vec<String>>,
        context_contains: Option<String>,
        has_webhook: Option<bool>;
        whole sent
    }

    /// Sort order of a task list.
    pub(crate) struct TaskSort {
        field: Option<TaskSortField>,
        direction: Option<Direction>,
    }
}

tradepost_document::words! {
    /// Sort key of tasks.
    pub(crate) enum TaskSortField {
        /// Creation time.
        CreatedAt = "created_at",
        /// Time of the last change.
        UpdatedAt = "updated_at",
        /// Status.
        Status = "status",
        /// Tool that created the task.
        TaskType = "task_type",
        /// Protocol of the task.
        Protocol = "protocol",
    }
}
