//! Serialises any type into a [`Value`].

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Result};

use super::{Map, RAW, Value, from_str, to_value};

/// The serializer into a [`Value`].
pub(super) struct ValueSerializer;

/// Items of an array in progress, inside a variant if there is one.
pub(super) struct ArraySerializer {
    variant: Option<&'static str>,
    items: Vec<Value>,
}

/// Members of an object in progress, inside a variant if there is one.
pub(super) struct ObjectSerializer {
    variant: Option<&'static str>,
    members: Map,
    name: Option<String>,
    /// True when the single member is the raw text of the value.
    raw: bool,
}

impl ArraySerializer {
    fn new(variant: Option<&'static str>, length: usize) -> Self {
        // Cap the allocation, because the declared length may be wrong.
        Self { variant, items: Vec::with_capacity(length.min(1024)) }
    }
}

impl ObjectSerializer {
    fn new(variant: Option<&'static str>, raw: bool) -> Self {
        Self { variant, members: Map::new(), name: None, raw }
    }
}

/// Wraps the value in a member with the variant's name, if there is one.
fn within(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => [(variant, value)].into_iter().collect(),
        None => value,
    }
}

impl Serializer for ValueSerializer {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = ArraySerializer;
    type SerializeTuple = ArraySerializer;
    type SerializeTupleStruct = ArraySerializer;
    type SerializeTupleVariant = ArraySerializer;
    type SerializeMap = ObjectSerializer;
    type SerializeStruct = ObjectSerializer;
    type SerializeStructVariant = ObjectSerializer;

    fn serialize_bool(self, value: bool) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_i8(self, value: i8) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_u8(self, value: u8) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_str(self, value: &str) -> Result<Value> {
        Ok(value.into())
    }

    // A type without its own method becomes what its text would be read as.

    fn serialize_i128(self, value: i128) -> Result<Value> {
        from_str(&value.to_string())
    }

    fn serialize_u128(self, value: u128) -> Result<Value> {
        from_str(&value.to_string())
    }

    fn serialize_f32(self, value: f32) -> Result<Value> {
        from_str(&serde_json::to_string(&value)?)
    }

    fn serialize_char(self, value: char) -> Result<Value> {
        Ok(Value::String(value.to_string()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_none(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<Value> {
        Ok(name.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Value> {
        to_value(value).map(|value| within(Some(name), value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<ArraySerializer> {
        Ok(ArraySerializer::new(None, length.unwrap_or_default()))
    }

    fn serialize_tuple(self, length: usize) -> Result<ArraySerializer> {
        Ok(ArraySerializer::new(None, length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<ArraySerializer> {
        Ok(ArraySerializer::new(None, length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        length: usize,
    ) -> Result<ArraySerializer> {
        Ok(ArraySerializer::new(Some(name), length))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ObjectSerializer> {
        Ok(ObjectSerializer::new(None, false))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<ObjectSerializer> {
        Ok(ObjectSerializer::new(None, name == RAW))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<ObjectSerializer> {
        Ok(ObjectSerializer::new(Some(name), false))
    }
}

impl ArraySerializer {
    fn add_item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.items.push(to_value(item)?);
        Ok(())
    }

    fn into_array(self) -> Result<Value> {
        Ok(within(self.variant, Value::Array(self.items)))
    }
}

impl SerializeSeq for ArraySerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.add_item(item)
    }

    fn end(self) -> Result<Value> {
        self.into_array()
    }
}

impl SerializeTuple for ArraySerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.add_item(item)
    }

    fn end(self) -> Result<Value> {
        self.into_array()
    }
}

impl SerializeTupleStruct for ArraySerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.add_item(item)
    }

    fn end(self) -> Result<Value> {
        self.into_array()
    }
}

impl SerializeTupleVariant for ArraySerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<()> {
        self.add_item(item)
    }

    fn end(self) -> Result<Value> {
        self.into_array()
    }
}

impl ObjectSerializer {
    /// Adds a member of a struct.
    fn add_member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.members.insert(name.to_owned(), to_value(value)?);
        Ok(())
    }

    /// Returns a finished struct; one that stands for raw JSON becomes what its text says.
    fn into_struct(self) -> Result<Value> {
        match self.members.get(RAW) {
            Some(Value::String(text)) if self.raw => from_str(text),
            _ => SerializeMap::end(self),
        }
    }
}

impl SerializeStruct for ObjectSerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.add_member(name, value)
    }

    fn end(self) -> Result<Value> {
        self.into_struct()
    }
}

impl SerializeStructVariant for ObjectSerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.add_member(name, value)
    }

    fn end(self) -> Result<Value> {
        self.into_struct()
    }
}

impl SerializeMap for ObjectSerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<()> {
        self.name = Some(match to_value(name)? {
            Value::String(name) => name,
            // Convert scalar keys to text, as `serde_json` does.
            Value::Number(name) => name.to_string(),
            Value::Bool(name) => name.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(Error::custom("key must be a string"));
            }
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.members.insert(self.name.take().unwrap_or_default(), to_value(value)?);
        Ok(())
    }

    fn end(self) -> Result<Value> {
        Ok(within(self.variant, Value::Object(self.members)))
    }
}
