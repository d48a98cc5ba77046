//! The order in which CTAs start.

/// In which order the CTAs of a launch start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Whichever the machine picks.
    #[default]
    Any,
    /// By ascending index.
    Ascending,
    /// By descending index.
    Descending,
}

impl Order {
    /// As the language says it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Order::Any => "any",
            Order::Ascending => "ascending",
            Order::Descending => "descending",
        }
    }
}
