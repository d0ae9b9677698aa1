//! Leads as ADF 1.0 XML, for dealers' CRM systems (requirements §3.5).
